// The keys of a recipe's [model] table: one list for reading, describing and suggesting.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "models/config.h"

namespace heed {

// A value as a recipe writes it.
struct ConfigKey {
  enum class Type : uint8_t { integer, number, text, boolean };

  std::string name;
  Type type;
  std::function<void(ModelConfig&, const std::string& where, int64_t integer, double number, const std::string& text)>
      set;
  std::function<std::string(const ModelConfig&)> show;
};

const std::vector<ConfigKey>& model_config_keys();

// The candidate that takes the fewest edits to reach; empty when none is near.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace heed
