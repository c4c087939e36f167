// Probabilities of the labels of words.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "checkpoint/model_directory.h"
#include "checkpoint/weights.h"
#include "heed/encoder.h"
#include "kernels/cpu/cpu_backend.h"
#include "models/any_model.h"
#include "text/tokenizer_training.h"

namespace heed {
namespace {

class WordLabels : public testing::Test {
 protected:
  // A tagger with random weights.
  void make() {
    std::filesystem::create_directories(folder_);
    bool read = false;
    const Tokenizers tokenizers{
        train_tokenizer({.kind = TokenizerKind::character, .user_symbols = {}}, [&](std::string& next) {
          next = "abcdefghijklmnopqrstuvwxyz ";
          return !std::exchange(read, true);
        })};
    ModelConfig config{.architecture = Architecture::encoder,
                       .model = 16,
                       .inner = 32,
                       .heads = 2,
                       .encoder_layers = 2,
                       .source_vocabulary = tokenizers.front()->vocabulary_size(),
                       .max_length = 64};
    config.head = Head::token_labels;
    config.labels = {"a", "b", "c"};
    config.validate();
    save_description({folder_}, config, tokenizers);
    const auto backend = make_cpu_backend(1);
    Weights weights;
    const AnyModel model(Scope(weights), config);
    Trainables trainables(*backend, weights, DType::f32, Trainables::Gradients::none);
    trainables.initialize(*backend, 1);
    save_weights(ModelFolder{folder_}.weights(), trainables, {});
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / ("heed-word-labels-" + std::to_string(getpid()));
};

TEST_F(WordLabels, EachWordHasTheProbabilitiesOfAllLabels) {
  make();
  const Encoder encoder(folder_.string());
  const std::vector<std::vector<std::string>> sentences{{"one", "two"}, {"three"}};
  const auto labels = encoder.tag(sentences);
  const auto scores = encoder.tag_scores(sentences);
  ASSERT_EQ(scores.size(), 2U);
  for (size_t i = 0; i < 2; ++i) {
    ASSERT_EQ(scores[i].size(), sentences[i].size());
    for (size_t word = 0; word < scores[i].size(); ++word) {
      ASSERT_EQ(scores[i][word].scores.size(), 3U);
      double sum = 0.0, most = 0.0;
      for (const LabelScore& score : scores[i][word].scores) {
        sum += score.probability;
        most = std::max(most, score.probability);
        if (score.label == labels[i][word]) {
          EXPECT_GE(score.probability, 1.0 / 3.0);
        }
      }
      EXPECT_NEAR(sum, 1.0, 1e-12);
      EXPECT_EQ(scores[i][word].labels, std::vector<std::string>{labels[i][word]});
    }
  }
}

}  // namespace
}  // namespace heed
