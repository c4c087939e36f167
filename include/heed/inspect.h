// What a recipe describes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heed {

struct ParameterInfo {
  std::string name, shape;
  int64_t elements = 0;
};

struct ModelSummary {
  std::string architecture;  // the [model] keys and their values, a line each
  std::vector<ParameterInfo> parameters;
  int64_t elements = 0;
};

ModelSummary inspect_recipe(const std::string& path);

}  // namespace heed
