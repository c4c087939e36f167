// A recipe of stages, and after a NUL what is to be set instead.
#include "fuzz/fuzz.h"
#include "train/stages/staged_recipe.h"

using namespace heed;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const std::string_view text = fuzz::text_of(bytes, size);
  const size_t end = std::min(text.find('\0'), text.size());
  std::vector<std::string> overrides;
  if (end < text.size()) {
    overrides.emplace_back(text.substr(end + 1));
  }
  const fuzz::MemoryFile file(text.substr(0, end));
  fuzz::allow_refusal([&] {
    if (!has_stages(file.path())) {
      return;
    }
    const StagedRecipe recipe(file.path(), overrides, "run");
    for (const RecipeStage& stage : recipe.stages()) {
      ensure(stage.from.empty() || stage.from != stage.name, "fuzz", "a stage is from itself");
    }
    ensure(recipe.last_model().leaves_model(), "fuzz", "ends without a model");
    count_listed(recipe.to_toml(), "shown.toml", kStages);
  });
  return 0;
}
