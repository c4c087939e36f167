// What Hugging Face's library made of texts, by tests/text/golden/make_huggingface.mjs.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/system/files.h"
#include "source_root.h"
#include "text/huggingface/huggingface_tokenizer.h"
#include "text/unicode/text_origins.h"

namespace heed::test {
namespace {

// What every tokenizer says of its tokens is what this kind says in characters.
void expect_origins(const HuggingFaceTokenizer& tokenizer, const std::string& text) {
  const auto encoding = tokenizer.encode_text(text, {.special = huggingface::SpecialText::literal,
                                                     .frame = huggingface::Frame::bare,
                                                     .offsets = huggingface::Offsets::characters});
  const std::vector<TextSpan> origins = tokenizer.origins(text);
  ASSERT_EQ(origins.size(), tokenizer.encode(text).size());
  const std::vector<TokenOffsets> found = characters_of(text, origins);
  for (size_t i = 0; i < found.size(); ++i) {
    // A part of a character is nothing to the library where it was trimmed, and the character here.
    const auto [begin, end] = encoding.offsets[i];
    EXPECT_EQ(found[i].begin, begin);
    EXPECT_TRUE(found[i].end == end || (begin == end && found[i].end == end + 1));
  }
}

using GoldenJson = nlohmann::json;

const GoldenJson& golden_file() {
  static const GoldenJson golden = GoldenJson::parse(read_file(source_root() / "tests/text/golden/huggingface.json"));
  return golden;
}

void expect_encoded(const HuggingFaceTokenizer::Encoding& encoding, const GoldenJson& expected) {
  std::vector<int32_t> ids;
  std::vector<uint32_t> offsets;
  for (size_t i = 0; i < encoding.ids.size(); ++i) {
    ids.push_back(encoding.ids[i].value);
    offsets.insert(offsets.end(), {encoding.offsets[i].begin, encoding.offsets[i].end});
  }
  EXPECT_EQ(GoldenJson(ids), expected.at("ids"));
  EXPECT_EQ(GoldenJson(offsets), expected.at("offsets"));
  EXPECT_EQ(GoldenJson(encoding.types),
            expected.contains("types") ? expected.at("types") : GoldenJson(std::vector<int32_t>(ids.size(), 0)));
}

TEST(HuggingFaceGolden, HoldsManyTokenizers) { EXPECT_GT(golden_file().at("cases").size(), 60U); }

TEST(HuggingFaceGolden, EveryPartEncodesAndDecodesAsTheLibraryDoes) {
  const HuggingFaceTokenizer::EncodeOptions with_offsets{.offsets = huggingface::Offsets::characters};
  const GoldenJson& texts = golden_file().at("texts");
  for (const GoldenJson& entry : golden_file().at("cases")) {
    SCOPED_TRACE(entry.at("name").get<std::string>());
    const auto tokenizer = parse_huggingface_tokenizer(entry.at("tokenizer").dump(), "golden");
    for (size_t i = 0; i < texts.size(); ++i) {
      const std::string text = texts[i];
      SCOPED_TRACE(text);
      const GoldenJson& expected = entry.at("texts").at(i);
      const auto encoding = tokenizer->encode_text(text, with_offsets);
      expect_encoded(encoding, expected);
      EXPECT_EQ(tokenizer->encode_text(text, {}).ids, encoding.ids) << "without offsets";
      expect_origins(*tokenizer, text);
      EXPECT_EQ(tokenizer->decode(encoding.ids), expected.at("text").get<std::string>());
    }
    for (size_t i = 0; i < entry.at("pairs").size(); ++i) {
      const auto encoding =
          tokenizer->encode_pair(texts[i + 2].get<std::string>(), texts[i + 3].get<std::string>(), with_offsets);
      expect_encoded(encoding, entry.at("pairs").at(i));
    }
  }
}

// Streams put the bytes of tokens together.
TEST(HuggingFaceGolden, BytesOfTokensPutTogetherAreTheDecodedText) {
  size_t checked = 0;
  for (const GoldenJson& entry : golden_file().at("cases")) {
    SCOPED_TRACE(entry.at("name").get<std::string>());
    const auto tokenizer = parse_huggingface_tokenizer(entry.at("tokenizer").dump(), "golden");
    for (const GoldenJson& result : entry.at("texts")) {
      std::string bytes;
      bool known = true;
      for (const int32_t id : result.at("ids").get<std::vector<int32_t>>()) {
        const std::optional<std::string> part = tokenizer->bytes_of(TokenId(id));
        known = known && part.has_value();
        bytes += part.value_or("");
      }
      const std::string text = result.at("text");
      if (known && text.find("\xef\xbf\xbd") == std::string::npos) {
        ++checked;
        // A first space, or several of Metaspace's marks in the first token, are dropped.
        const size_t begin = tokenizer->drops_first_space() && bytes.starts_with(' ') ? 1 : 0;
        EXPECT_EQ(bytes.substr(begin), text);
      }
    }
  }
  EXPECT_GT(checked, 300U);
}

}  // namespace
}  // namespace heed::test
