#include "heed/encoder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <thread>
#include <utility>

#include "checkpoint/model_directory.h"
#include "checkpoint/weights.h"
#include "kernels/cpu/cpu_backend.h"
#include "models/any_model.h"
#include "text/tokenizer_training.h"

namespace heed {
namespace {

class EncoderThreads : public testing::Test {
 protected:
  // A classifier with random weights.
  void SetUp() override {
    std::filesystem::create_directories(folder_);
    const std::string line = "abcdefghijklmnopqrstuvwxyz ";
    bool read = false;
    const Tokenizers tokenizers{
        train_tokenizer({.kind = TokenizerKind::character, .user_symbols = {}}, [&](std::string& next) {
          next = line;
          return !std::exchange(read, true);
        })};
    ModelConfig config{.architecture = Architecture::encoder,
                       .model = 16,
                       .inner = 32,
                       .heads = 2,
                       .encoder_layers = 2,
                       .source_vocabulary = tokenizers.front()->vocabulary_size(),
                       .max_length = 64};
    config.head = Head::one_label;
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
      std::filesystem::path(testing::TempDir()) / ("heed-encoder-threads-" + std::to_string(getpid()));
};

TEST_F(EncoderThreads, GetTheSameResultsTogetherAsAlone) {
  const Encoder encoder(folder_.string(), {.precision = Precision::f32, .threads = 2});
  std::vector<std::string> texts;
  for (size_t i = 0; i < 60; ++i) {
    texts.push_back(std::string(1 + i % 20, static_cast<char>('a' + i % 26)) + " b");
  }
  struct Found {
    std::vector<std::vector<float>> embeddings;
    std::vector<double> probabilities;
  };
  const auto read = [&] {
    Found found{encoder.embed(texts), {}};
    for (const TextLabels& text : encoder.classify(texts)) {
      found.probabilities.push_back(text.scores.front().probability);
    }
    return found;
  };
  std::vector<Found> together(4);
  std::vector<std::thread> threads;
  for (Found& found : together) {
    threads.emplace_back([&] { found = read(); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  const Found alone = read();
  EXPECT_NE(alone.probabilities.front(), alone.probabilities.back());
  for (const Found& found : together) {
    EXPECT_EQ(found.embeddings, alone.embeddings);
    EXPECT_EQ(found.probabilities, alone.probabilities);
  }
}

}  // namespace
}  // namespace heed
