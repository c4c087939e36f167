#include "report/run/encoder_texts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/cpu/cpu_backend.h"
#include "report/page.h"
#include "text/tokenizer_training.h"

namespace heed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

class EncoderTextsTest : public testing::Test {
 protected:
  void SetUp() override {
    bool given = false;
    tokenizer_ = train_tokenizer({.kind = TokenizerKind::character, .user_symbols = {}}, [&](std::string& line) {
      line = "abc ";
      return !std::exchange(given, true);
    });
    config_.source_vocabulary = tokenizer_->vocabulary_size();
    model_.emplace(Scope(weights_), config_);
    weights_.store_initial(*backend_, DType::f32, 1);
  }

  EncoderTexts read(const std::vector<SampleLine>& lines) const {
    return read_encoder_texts({*model_, *backend_, DType::f32}, *tokenizer_, lines);
  }

  ModelConfig config_{.architecture = Architecture::encoder,
                      .model = 16,
                      .inner = 24,
                      .heads = 2,
                      .encoder_layers = 3,
                      .max_length = 8};
  std::unique_ptr<Tokenizer> tokenizer_;
  std::unique_ptr<Backend> backend_ = make_cpu_backend(1);
  Weights weights_;
  std::optional<AnyModel> model_;
};

TEST_F(EncoderTextsTest, HaveAMapForEachLayerAndHeadAndAFigureForEachHead) {
  const EncoderTexts texts = read({{"abc", ""}, {"a", ""}});
  ASSERT_THAT(texts.read, SizeIs(2));
  EXPECT_THAT(texts.read[0].tokens, ElementsAre("<s>", "a", "b", "c", "</s>"));
  EXPECT_THAT(texts.read[0].maps, SizeIs(3 * 2 * 5 * 5));
  ASSERT_THAT(texts.heads, SizeIs(3 * 2));
  EXPECT_EQ(texts.heads.front().rows, 5 + 3);
  EXPECT_FALSE(std::isnan(texts.heads.front().end));
}

TEST_F(EncoderTextsTest, OfAPairModelAreTwoColumns) {
  const EncoderTexts texts =
      read_encoder_texts({*model_, *backend_, DType::f32}, *tokenizer_, {{"a\tbc", ""}}, TextColumns::pair);
  EXPECT_THAT(texts.read[0].tokens, ElementsAre("<s>", "a", "<sep>", "b", "c", "</s>"));
  try {
    read_encoder_texts({*model_, *backend_, DType::f32}, *tokenizer_, {{"a", "", "texts.tsv:7"}}, TextColumns::pair);
    FAIL() << "one column was read as a pair";
  } catch (const FormatError& error) {
    EXPECT_THAT(error.what(), HasSubstr("texts.tsv:7: 1 column, expected 2"));
  }
}

TEST_F(EncoderTextsTest, EndWhenTheyAreInterrupted) {
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(read_encoder_texts({*model_, *backend_, DType::f32}, *tokenizer_, {{"a", ""}}, TextColumns::one,
                                  {.stop = stop.get_token()}),
               InterruptedError);
}

TEST_F(EncoderTextsTest, AreCutWhereTheModelTakesNoMore) {
  EXPECT_THAT(read({{"abcabcabcabc", ""}}).read.front().tokens, SizeIs(8));
}

TEST_F(EncoderTextsTest, StandOnThePageWithTheirMaps) {
  ReportContent content;
  content.model = config_;
  const EncoderTexts texts = read({{"a<b", ""}});
  content.texts = texts.read;
  content.heads = texts.heads;
  const std::string page = report_page(content);
  EXPECT_THAT(page, HasSubstr("<dd dir=\"auto\">a&lt;b</dd>"));
  EXPECT_THAT(page, HasSubstr("data-sample=\"0\""));
  EXPECT_THAT(report_data(content), HasSubstr("\"maps\":{\"encoder\":\""));
}

}  // namespace
}  // namespace heed
