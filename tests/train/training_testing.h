// A small translation run: words to be reversed, a model that learns in seconds.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>

#include "base/system/files.h"
#include "kernels/cpu/cpu_backend.h"
#include "tensor_files/safetensors.h"
#include "test_folder.h"
#include "train/run/trainer.h"
#include "train/tasks/reversed_text.h"
#include "train/tasks/tasks.h"
#include "train/tasks/translation_task.h"

namespace heed::test {

class Listening : public TrainListener {
 public:
  void on_message(const std::string& message) override { messages.push_back(message); }
  void on_start() override {}
  void on_status(const TrainStatus& p) override { progress.push_back(p); }
  void on_validation(const ValidationStatus& v) override { validations.push_back(v); }
  bool wants_to_stop() override { return stop_after == asked++; }
  bool wants_to_pause(double fraction) override { return fraction >= pause_at; }

  std::vector<std::string> messages;
  std::vector<TrainStatus> progress;
  std::vector<ValidationStatus> validations;
  int64_t stop_after = -1, asked = 0;
  double pause_at = 2.0;  // share of the run
};

inline TranslationRecipe& task(Recipe& recipe) { return recipe.of<TranslationRecipe>(); }

class TrainingTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = test::folder_of_test();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    write_pairs("train", 300);
    write_pairs("valid", 20);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write_pairs(const std::string& name, int64_t count) {
    std::string source, target;
    for (const ReversedSentence& pair : reversed_sentences(name, count)) {
      source += pair.source + "\n";
      target += pair.target + "\n";
    }
    write_file(folder_ / (name + ".de"), source);
    write_file(folder_ / (name + ".en"), target);
  }
  std::string file(const std::string& name) const { return (folder_ / name).string(); }

  Recipe small_recipe() const {
    Recipe recipe = default_recipe(task_named("translation"));
    recipe.model = {.model = 32,
                    .inner = 64,
                    .heads = 2,
                    .encoder_layers = 1,
                    .decoder_layers = 1,
                    .max_length = 64,
                    .tying = Tying::all};
    task(recipe).data.train_source = {file("train.de")};
    task(recipe).data.train_target = {file("train.en")};
    task(recipe).data.validation_source = {file("valid.de")};
    task(recipe).data.validation_target = {file("valid.en")};
    task(recipe).data.max_length = 40;
    task(recipe).data.batches = {.target_tokens = 300, .pool = 100};
    task(recipe).tokenizer.learned.kind = TokenizerKind::word;
    task(recipe).tokenizer.learned.vocabulary = 0;
    recipe.schedule = {.peak = 5e-3, .warmup = 10};
    recipe.training.updates = 24;
    recipe.training.log_every = 5;
    recipe.validation.every = 8;
    return recipe;
  }

  EndReason train(const Recipe& recipe, const std::string& name, TrainStart start = TrainStart::fresh) {
    const auto backend = make_cpu_backend(2);
    return Trainer(*backend, recipe, {folder_ / name}, start, listening_).run();
  }
  // A hash of the final weights.
  std::string weights(const std::string& name) const {
    return SafeTensors(folder_ / name / "model.safetensors").metadata().at("heed_checksum");
  }

  std::filesystem::path folder_;
  Listening listening_;
};

}  // namespace heed::test
