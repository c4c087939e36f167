// What a recipe describes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heed {

// A number of elements or, while a vocabulary's size is unknown (its tokenizer is not trained yet), elements per token.
struct ParameterCount {
  int64_t elements = 0;
  std::string vocabulary;  // "target_vocabulary"; empty where the elements are known
};

struct ParameterInfo {
  std::string name, shape;  // the shape names the vocabulary too
  ParameterCount count;
};

struct ModelSummary {
  std::string architecture;  // the [model] keys and their values, a line each
  std::vector<ParameterInfo> parameters;
  std::vector<ParameterCount> counts;  // of all parameters: first what is known, then per vocabulary of unknown size
};

// `overrides` are "table.key=value" and replace what the recipe says. Where the recipe leaves a vocabulary's size to
// its tokenizer, the largest allowed size is assumed; characters and words are counted in the recipe's text or, where
// the text is missing, left open.
ModelSummary inspect_recipe(const std::string& path, const std::vector<std::string>& overrides = {});

}  // namespace heed
