// prepared.json with a valid checksum, since without one nothing gets past the check. Keys that the input lacks are
// those of a valid one.
#include <nlohmann/json.hpp>

#include "base/system/files.h"
#include "fuzz/fuzz.h"
#include "text/vocabulary/vocabulary.h"
#include "train/corpus/prepare.h"
#include "train/corpus/prepared_corpus.h"
#include "train/recipe/translation_recipe.h"
#include "train/tasks/tasks.h"

using namespace heed;

namespace {

Recipe prepared_recipe(const std::filesystem::path& folder) {
  const std::string text = (folder / "text").string();
  write_file(text, "ab cd\nef\n");
  Recipe recipe = default_recipe(task_named("translation"));
  auto& own = recipe.of<TranslationRecipe>();
  own.data.train_source = {text};
  own.data.train_target = {text};
  own.tokenizer.learned.kind = TokenizerKind::character;
  own.tokenizer.learned.vocabulary = 0;
  recipe.training.updates = 1;
  recipe.checkpoints.final_weights = FinalWeights::last;
  prepare_corpus(recipe, folder / "corpus", 1);
  return recipe;
}

std::string sealed(std::string_view text, const std::string& valid) {
  nlohmann::json root = nlohmann::json::parse(text, nullptr, false);
  if (!root.is_object()) {
    return std::string(text);
  }
  const nlohmann::json complete = nlohmann::json::parse(valid);
  for (const auto& [key, value] : complete.items()) {
    if (!root.contains(key)) {
      root[key] = value;
    }
  }
  root.erase("checksum");
  root["checksum"] = checksum_of(root.dump(2));
  return root.dump();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static const fuzz::ScratchFolder scratch;
  static const Recipe recipe = prepared_recipe(scratch.path());
  static const std::filesystem::path folder = scratch.path() / "corpus";
  static const std::string valid = read_file(folder / "prepared.json");
  scratch.write("corpus/prepared.json", sealed(fuzz::text_of(bytes, size), valid));
  fuzz::allow_refusal([] {
    const PreparedCorpus corpus(folder);
    corpus.require_recipe(recipe);
    recipe.task->make_task(recipe, {.tokenizers = &corpus.tokenizers(), .stored = &corpus.fields()})->next_update(0);
  });
  return 0;
}
