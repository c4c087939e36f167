#include "heed/demo.h"

#include <filesystem>

#include "base/files.h"
#include "data/german_english.h"
#include "train/recipe.h"

namespace heed {
namespace {

constexpr int64_t kTrainingPairs = 40'000;
constexpr int64_t kHeldOutPairs = 400;

struct PairFiles {
  std::string source, target;
};

PairFiles write_pairs(const std::filesystem::path& folder, const std::string& name, Split split, int64_t count) {
  std::string source, target;
  for (const SentencePair& pair : german_english_corpus(split, count)) {
    source += pair.source + "\n";
    target += pair.target + "\n";
  }
  PairFiles files{(folder / (name + ".de")).string(), (folder / (name + ".en")).string()};
  write_file(files.source, source);
  write_file(files.target, target);
  return files;
}

Recipe demo_recipe() {
  Recipe recipe;
  recipe.model = {.model = 96,
                  .inner = 384,
                  .heads = 4,
                  .encoder_layers = 2,
                  .decoder_layers = 2,
                  .longest = 128,
                  .tying = Tying::all};
  recipe.data.longest = 60;
  recipe.data.batches = {.target_tokens = 2048};
  recipe.tokenizer.vocabulary = 1000;
  recipe.optimizer = {.beta2 = 0.98, .decay_kind = WeightDecay::coupled, .weight_decay = 0.0};
  recipe.schedule = {.kind = ScheduleKind::cosine, .peak = 4e-3, .final = 1e-4, .warmup = 100, .length = 1200};
  recipe.training.updates = 1200;
  recipe.training.log_every = 50;
  recipe.validation.every = 300;
  recipe.validation.sentences = 200;
  recipe.checkpoints.final_weights = FinalWeights::last;
  return recipe;
}

}  // namespace

DemoFiles write_demo(const std::string& folder_name) {
  const std::filesystem::path folder(folder_name);
  std::filesystem::create_directories(folder);
  Recipe recipe = demo_recipe();
  const PairFiles train = write_pairs(folder, "train", Split::training, kTrainingPairs);
  const PairFiles validation = write_pairs(folder, "validation", Split::validation, kHeldOutPairs);
  const PairFiles test = write_pairs(folder, "test", Split::test, kHeldOutPairs);
  recipe.data.train_source = {train.source};
  recipe.data.train_target = {train.target};
  recipe.data.validation_source = {validation.source};
  recipe.data.validation_target = {validation.target};
  const std::filesystem::path path = folder / "demo.toml";
  write_file(path, "description = \"The built-in German-English corpus\"\n\n" + show_recipe(recipe));
  return {path.string(), test.source, test.target};
}

}  // namespace heed
