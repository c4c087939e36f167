// heed's tokenizers of original models give the ids, offsets and texts that their own libraries give: texts.json of
// tests/interchange/golden/original.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/system/files.h"
#include "checkpoint/model_directory.h"
#include "decode/texts/translation/translation_frame.h"
#include "interchange/foreign_source.h"
#include "interchange/huggingface/tokenizer_files.h"
#include "source_root.h"
#include "text/huggingface/huggingface_tokenizer.h"
#include "text/token_ids.h"

namespace heed::test {
namespace {

using TextJson = nlohmann::json;

// Those with texts.
std::vector<std::string> original_tokenizers() {
  std::vector<std::string> names;
  const std::filesystem::path root = source_root() / "tests/interchange/golden/original";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (entry.path().filename() == "texts.json") {
      names.push_back(std::filesystem::relative(entry.path().parent_path(), root).string());
    }
  }
  std::ranges::sort(names);
  return names;
}

std::string name_of_texts(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::ranges::replace_if(
      name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
}

TextJson offsets_in_characters(const huggingface::Encoding& encoding) {
  TextJson offsets = TextJson::array();
  for (const huggingface::ByteRange& range : encoding.offsets) {
    offsets.push_back({range.begin, range.end});
  }
  return offsets;
}

class OriginalTexts : public testing::TestWithParam<std::string> {
 protected:
  const std::filesystem::path folder_ = source_root() / "tests/interchange/golden/original" / GetParam();
  const TextJson texts_ = TextJson::parse(read_file(folder_ / "texts.json"));
  const ModelFolder model_{folder_};
  const ModelDescription description_ = load_description(model_);
  const Tokenizers tokenizers_ = load_tokenizers(model_, description_);
};

TEST_P(OriginalTexts, AreEncodedAndDecodedAsByTheLibrary) {
  const auto* const tokenizer = dynamic_cast<const HuggingFaceTokenizer*>(tokenizers_.front().get());
  ASSERT_NE(tokenizer, nullptr);
  for (const TextJson& expected : texts_) {
    const auto text = expected.at("text").get<std::string>();
    const auto framed = tokenizer->encode_text(text, {});
    EXPECT_EQ(TextJson(ids_of(framed.ids)), expected.at("ids")) << text;
    if (expected.contains("bare")) {
      const auto bare = tokenizer->encode_text(
          text, {.frame = huggingface::Frame::bare, .offsets = huggingface::Offsets::characters});
      EXPECT_EQ(TextJson(ids_of(bare.ids)), expected.at("bare")) << text;
      EXPECT_EQ(offsets_in_characters(bare), expected.at("offsets")) << text;
    }
    // For these, the library's tokenizers frame pairs in their own way, and decode with the target's pieces.
    if (!expected.contains("bare")) {
      continue;
    }
    if (expected.contains("pair") && !expected.at("pair_with").get<std::string>().empty()) {
      const auto pair = tokenizer->encode_pair(text, expected.at("pair_with").get<std::string>(), {});
      EXPECT_EQ(TextJson(ids_of(pair.ids)), expected.at("pair")) << text;
      if (expected.contains("pair_types")) {
        EXPECT_EQ(TextJson(pair.types), expected.at("pair_types")) << text;
      }
    }
    EXPECT_EQ(tokenizer->decode(framed.ids), expected.at("decoded_without_special").get<std::string>()) << text;
  }
}

// The files that came before tokenizer.json, from which the library made it.
TEST_P(OriginalTexts, AreEncodedTheSameFromTheOlderFiles) {
  const std::filesystem::path old = folder_ / "old";
  if (!std::filesystem::exists(old)) {
    return;
  }
  const Tokenizers older = read_huggingface_tokenizers(old, read_foreign_model(folder_));
  const auto* const tokenizer = dynamic_cast<const HuggingFaceTokenizer*>(older.front().get());
  ASSERT_NE(tokenizer, nullptr);
  for (const TextJson& expected : texts_) {
    const auto text = expected.at("text").get<std::string>();
    const bool bare = expected.contains("bare");
    const auto found =
        tokenizer->encode_text(text, {.frame = bare ? huggingface::Frame::bare : huggingface::Frame::framed});
    // Spaces before the mask and at the end have changed in the library since.
    if (text.find("<mask>") == std::string::npos && !text.ends_with(' ')) {
      EXPECT_EQ(TextJson(ids_of(found.ids)), expected.at(bare ? "bare" : "ids")) << text;
    }
  }
}

// As commands read texts: special tokens that a text spells are characters.
TEST_P(OriginalTexts, AreReadByATranslatorAsByTheLibrary) {
  if (description_.config.architecture != Architecture::seq2seq) {
    return;
  }
  const TranslationFrame frame({*tokenizers_.at(0), *tokenizers_.at(1)}, description_.marks, {});
  for (const TextJson& expected : texts_) {
    const auto text = expected.at("text").get<std::string>();
    if (text.find('<') == std::string::npos) {
      EXPECT_EQ(TextJson(frame.around_source(ids_of(tokenizers_.front()->encode(text)))), expected.at("ids")) << text;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, OriginalTexts, testing::ValuesIn(original_tokenizers()), name_of_texts);

}  // namespace
}  // namespace heed::test
