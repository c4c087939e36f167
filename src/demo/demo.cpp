#include "demo/demo.h"

#include <algorithm>
#include <filesystem>

#include "base/system/files.h"
#include "base/system/new_folder.h"
#include "base/system/threads.h"
#include "demo/german_english.h"
#include "train/recipe/translation_recipe.h"
#include "train/tasks/tasks.h"

namespace heed {
namespace {

constexpr int64_t kFewestPairs = 4'000, kTrainingPairs = 40'000;
constexpr int64_t kPairsPerUpdate = 250;  // a batch holds a few less
constexpr int64_t kHeldOutPairs = 400;

void write_pairs(const std::filesystem::path& folder, const std::string& name, Split split, int64_t count) {
  std::string source, target;
  for (const Sentence& pair : german_english_corpus(split, count)) {
    source += pair.source + "\n";
    target += pair.target + "\n";
  }
  write_file(folder / (name + ".de"), source);
  write_file(folder / (name + ".en"), target);
}

// A short run need not wait for text that it will not read.
int64_t training_pairs(int64_t updates) {
  return std::clamp(std::min(updates, kTrainingPairs) * kPairsPerUpdate, kFewestPairs, kTrainingPairs);
}

// Warm-up, validations and log lines are at the same fractions of a shorter run.
Recipe demo_recipe(int64_t updates) {
  Recipe recipe = default_recipe(task_named("translation"));
  TranslationRecipe& translation = recipe.of<TranslationRecipe>();
  recipe.model = {.model = 96,
                  .inner = 384,
                  .heads = 4,
                  .encoder_layers = 2,
                  .decoder_layers = 2,
                  .max_length = 128,
                  .tying = Tying::all};
  // The files beside the recipe, wherever the folder is moved.
  translation.data = {.train_source = {"train.de"},
                      .train_target = {"train.en"},
                      .validation_source = {"validation.de"},
                      .validation_target = {"validation.en"},
                      .max_length = 60,
                      .batches = {.target_tokens = 2048}};
  translation.tokenizer.learned.vocabulary = 1000;
  recipe.optimizer = {.kind = OptimizerKind::adam, .beta2 = 0.98, .weight_decay = 0.0};
  recipe.schedule = {.kind = ScheduleKind::cosine,
                     .peak = 4e-3,
                     .final = 1e-4,
                     .warmup = std::min<int64_t>(100, updates / 12),
                     .length = updates};
  recipe.training.updates = updates;
  recipe.training.log_every = std::clamp<int64_t>(updates / 24, 1, 50);
  recipe.validation.every = std::max<int64_t>(1, updates / 4);
  translation.validation.sentences = 200;
  recipe.checkpoints.final_weights = FinalWeights::last;
  return recipe;
}

// What is there already may be another demo's model, or anything else that took someone time.
void require_empty(const std::filesystem::path& folder) {
  std::error_code problem;
  const bool empty = std::filesystem::is_empty(folder, problem);
  require<IoError>(!problem, folder.string(), "cannot read the folder: {}", problem.message());
  require<ConfigError>(empty, folder.string(), "the folder is not empty: remove it, or name another with --out");
}

}  // namespace

Demo write_demo(const DemoOptions& options) {
  require<ConfigError>(options.updates >= 1, "demo", "{} updates, expected 1 or more", options.updates);
  thread_count(options.threads);
  const std::filesystem::path folder(options.folder);
  NewFolder entries(folder);
  require_empty(folder);
  write_pairs(folder, "train", Split::training, training_pairs(options.updates));
  write_pairs(folder, "validation", Split::validation, kHeldOutPairs);
  write_pairs(folder, "test", Split::test, kHeldOutPairs);
  const std::filesystem::path path = folder / "demo.toml";
  write_file(path, "description = \"The built-in German-English corpus\"\n\n" + to_toml(demo_recipe(options.updates)));
  entries.keep();
  return {.recipe = path.string(),
          .model = (folder / "model").string(),
          .test_source = (folder / "test.de").string(),
          .test_target = (folder / "test.en").string()};
}

}  // namespace heed
