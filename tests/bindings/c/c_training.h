// A small recipe for tests of training from C.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "bindings/c/c_models.h"

namespace heed::test {

using RecordOwner = std::unique_ptr<heed_record, FreedBy<heed_record_free>>;

inline std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// In a folder of the test's own: four updates of a small translator, two validations, without SentencePiece.
class CTrainingTest : public testing::Test {
 protected:
  CTrainingTest() {
    std::filesystem::create_directories(folder_);
    for (const std::string side : {"source", "target"}) {
      std::ofstream text(folder_ / side);
      for (int line = 0; line < 40; ++line) {
        text << side << " word" << line % 7 << " word" << line % 5 << "\n";
      }
    }
    std::ofstream(folder_ / "recipe.toml") << R"([model]
architecture = "seq2seq"
model = 8
inner = 8
heads = 2
encoder_layers = 1
decoder_layers = 1
max_length = 16
[data]
train_source = ["source"]
train_target = ["target"]
validation_source = ["source"]
validation_target = ["target"]
max_length = 15
batch_target_tokens = 40
[tokenizer]
kind = "word"
minimum_count = 1
[schedule]
warmup = 1
length = 4
[training]
updates = 4
log_every = 1
[validation]
every = 2
)";
  }
  ~CTrainingTest() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string recipe() const { return path("recipe.toml"); }
  static OptionsOwner training_options() { return make_options({{HEED_THREADS, 1}}); }

 private:
  std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) /
      ("heed-c-" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()) + "-" +
       std::to_string(getpid()));
};

}  // namespace heed::test
