// The golden models' tokenizers give the ids, pieces, offsets and texts that the original library gives:
// tests/interchange/golden/*/*/texts.json, written by texts.mjs.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/system/files.h"
#include "source_root.h"
#include "text/huggingface/huggingface_tokenizer.h"

namespace heed::test {
namespace {

using GoldenTextJson = nlohmann::json;

std::vector<int32_t> numbers(const std::vector<TokenId>& tokens) {
  std::vector<int32_t> ids;
  for (const TokenId token : tokens) {
    ids.push_back(token.value);
  }
  return ids;
}

GoldenTextJson offsets_of(const huggingface::Encoding& encoding) {
  GoldenTextJson offsets = GoldenTextJson::array();
  for (const huggingface::ByteRange& range : encoding.offsets) {
    offsets.push_back({range.begin, range.end});
  }
  return offsets;
}

class GoldenTexts : public testing::TestWithParam<const char*> {
 protected:
  const std::filesystem::path folder_ = source_root() / "tests/interchange/golden" / GetParam();
  const std::unique_ptr<HuggingFaceTokenizer> tokenizer_ =
      parse_huggingface_tokenizer(read_file(folder_ / "tokenizer.json"), "tokenizer.json", use());

 private:
  TokenizerUse use() const {
    TokenizerUse use{.rows = GoldenTextJson::parse(read_file(folder_ / "config.json")).at("vocab_size").get<int64_t>()};
    read_special_names(read_file(folder_ / "tokenizer_config.json"), "tokenizer_config.json", use.names);
    return use;
  }
};

TEST_P(GoldenTexts, AreEncodedAsByTheOriginalLibrary) {
  const GoldenTextJson texts = GoldenTextJson::parse(read_file(folder_ / "texts.json"));
  for (size_t i = 0; i < texts.size(); ++i) {
    const GoldenTextJson& expected = texts[i];
    const auto text = expected.at("text").get<std::string>();
    const auto next = texts[(i + 1) % texts.size()].at("text").get<std::string>();
    const auto framed = tokenizer_->encode_text(text, {});
    EXPECT_EQ(GoldenTextJson(numbers(framed.ids)), expected.at("ids")) << text;
    const auto bare = tokenizer_->encode_text(
        text, {.frame = huggingface::Frame::bare, .offsets = huggingface::Offsets::characters, .texts = true});
    EXPECT_EQ(GoldenTextJson(numbers(bare.ids)), expected.at("bare")) << text;
    EXPECT_EQ(GoldenTextJson(bare.texts), expected.at("tokens")) << text;
    EXPECT_EQ(offsets_of(bare), expected.at("offsets")) << text;
    const auto pair = tokenizer_->encode_pair(text, next, {});
    EXPECT_EQ(GoldenTextJson(numbers(pair.ids)), expected.at("pair")) << text;
    EXPECT_EQ(GoldenTextJson(pair.types), expected.at("pair_types")) << text;
    EXPECT_EQ(GoldenTextJson(tokenizer_->decode(framed.ids)), expected.at("decoded_without_special")) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, GoldenTexts,
                         testing::Values("decoders/gemma", "decoders/gpt-neox", "decoders/gpt2", "decoders/llama",
                                         "decoders/llama-biases", "decoders/opt", "decoders/qwen2",
                                         "encoder_decoders/bart", "encoder_decoders/mbart-25", "encoder_decoders/mt5",
                                         "encoder_decoders/nllb", "encoders/albert", "encoders/bert", "encoders/mpnet",
                                         "encoders/xlm-roberta"));

}  // namespace
}  // namespace heed::test
