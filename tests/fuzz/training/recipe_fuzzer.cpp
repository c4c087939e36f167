// A recipe, and after a NUL what is to be set instead.
#include "fuzz/fuzz.h"
#include "train/recipe/recipe.h"

using namespace heed;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const std::string_view text = fuzz::text_of(bytes, size);
  const size_t end = std::min(text.find('\0'), text.size());
  std::vector<std::string> overrides;
  if (end < text.size()) {
    overrides.emplace_back(text.substr(end + 1));
  }
  fuzz::allow_refusal([&] {
    const Recipe recipe = parse_recipe(text.substr(0, end), "r.toml", overrides);
    const Recipe again = parse_recipe(to_toml(recipe), "shown.toml", {});
    ensure(differences(recipe, again).empty(), "fuzz", "is shown as another");
    recipe.validate();
  });
  return 0;
}
