#include "cli/options/given_options.h"

#include <utility>

namespace heed::cli {

std::vector<Option> GivenOptions::noted(std::vector<Option> options) {
  for (Option& option : options) {
    option.set = [this, name = option.name, set = std::move(option.set)](const std::string& text) {
      names_.insert(name);
      set(text);
    };
  }
  return options;
}

}  // namespace heed::cli
