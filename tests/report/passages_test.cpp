#include "report/run/passages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>

#include "base/system/files.h"
#include "kernels/cpu/cpu_backend.h"
#include "nn/weights/trainables.h"
#include "test_folder.h"
#include "text/tokenizer_training.h"

namespace heed {
namespace {

using testing::SizeIs;

// Its weights are random.
class PassagesTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = test::folder_of_test();
    bool given = false;
    tokenizer_ = train_tokenizer({.kind = TokenizerKind::character, .user_symbols = {}}, [&](std::string& line) {
      line = "abcdefghijklmnopqrstuvwxyz ";
      return !std::exchange(given, true);
    });
    const int64_t vocabulary = tokenizer_->vocabulary_size();
    model_.emplace(Scope(weights_), ModelConfig{.architecture = Architecture::causal_lm,
                                                .model = 32,
                                                .inner = 48,
                                                .heads = 4,
                                                .encoder_layers = 0,
                                                .decoder_layers = 2,
                                                .target_vocabulary = vocabulary,
                                                .max_length = 16});
    trainables_.emplace(*backend_, weights_, DType::f32, Trainables::Gradients::none);
    trainables_->initialize(*backend_, 7);
  }
  void TearDown() override { std::filesystem::remove(path_); }

  Passages read(const std::string& text, Documents documents, const PassageRules& rules) const {
    write_file(path_, text);
    return read_passages({*model_, *backend_, DType::f32}, *tokenizer_, {.files = {path_}, .documents = documents},
                         rules);
  }

  std::filesystem::path path_;
  std::unique_ptr<Tokenizer> tokenizer_;
  std::unique_ptr<Backend> backend_ = make_cpu_backend(1);
  Weights weights_;
  std::optional<AnyModel> model_;
  std::optional<Trainables> trainables_;
};

TEST_F(PassagesTest, AreAsLongAsTheModelTakesAndSpreadOverTheText) {
  const Passages passages =
      read("abcdefghijklmnopqrstuvwxyz abcdefghijklmnopqrstuvwxyz", Documents::none, {.count = 3});
  ASSERT_THAT(passages.read, SizeIs(3));
  EXPECT_EQ(passages.read[0].fed_tokens.front(), "a");
  EXPECT_EQ(passages.read[1].fed_tokens.front(), "r") << "row 17 of 52";
  for (const Passage& passage : passages.read) {
    EXPECT_THAT(passage.fed_tokens, SizeIs(16));
    EXPECT_THAT(passage.maps, SizeIs(2 * 4 * 16 * 16));
  }
}

TEST_F(PassagesTest, HaveTheLogProbabilitiesOfTheModelsLoss) {
  const Passages passages = read("hello there", Documents::none, {.count = 1});
  ASSERT_THAT(passages.read, SizeIs(1));
  std::vector<int32_t> ids;
  for (const TokenId id : tokenizer_->encode("hello there")) {
    ids.push_back(id.value);
  }
  const TokenBatch batch{Sequences(std::vector<std::vector<int32_t>>{{ids.begin(), ids.end() - 1}}),
                         Targets({ids.begin() + 1, ids.end()})};
  Pass pass = Pass::infer(*backend_, DType::f32);
  const double loss = model_->causal_lm().loss(pass, batch, Smoothing(0.0F)).total_negative_log_likelihood();
  const std::vector<double>& found = passages.read.front().log_probabilities;
  EXPECT_NEAR(std::accumulate(found.begin(), found.end(), 0.0), -loss, 1e-4);
  EXPECT_EQ(passages.read.front().expected_tokens.back(), "e");
}

TEST_F(PassagesTest, StayInOneDocument) {
  const Passages passages = read("ab\nlonger line\ncd\n", Documents::lines, {.count = 1});
  ASSERT_THAT(passages.read, SizeIs(1));
  EXPECT_EQ(passages.read.front().expected_tokens.front(), "l");
  EXPECT_THAT(passages.read.front().expected_tokens, testing::Not(testing::Contains("b")));
  EXPECT_EQ(passages.read.front().where, path_.string() + ":2") << "the line that is shown, not all that was looked at";
}

TEST_F(PassagesTest, EndWhenTheyAreInterrupted) {
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(read("hello there", Documents::none, {.interruption = {.stop = stop.get_token()}}), InterruptedError);
}

TEST_F(PassagesTest, OfAShortTextAreFewer) {
  EXPECT_THAT(read("abc", Documents::none, {.count = 6}).read, SizeIs(1));
  EXPECT_THAT(read("abc", Documents::none, {.count = 6, .max_tokens = 1}).read, SizeIs(2));
}

}  // namespace
}  // namespace heed
