// An encoder with random weights, in a folder of the test's own.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <utility>

#include "checkpoint/model_directory.h"
#include "checkpoint/weights.h"
#include "kernels/cpu/cpu_backend.h"
#include "models/any_model.h"
#include "text/tokenizer_training.h"

namespace heed {

class RandomEncoderTest : public testing::Test {
 protected:
  // One that labels texts or words with "a", "b" or "c", or guesses "<mask>"s.
  void make(Head head) {
    std::filesystem::create_directories(folder_);
    bool read = false;
    const Tokenizers tokenizers{
        train_tokenizer({.kind = TokenizerKind::character, .user_symbols = {"<mask>"}}, [&](std::string& next) {
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
    config.head = head;
    if (head != Head::tokens && head != Head::number) {
      config.labels = {"a", "b", "c"};
    }
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
      std::filesystem::path(testing::TempDir()) / ("heed-random-encoder-" + std::to_string(getpid()));
};

}  // namespace heed
