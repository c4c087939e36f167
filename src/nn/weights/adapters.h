// Low-rank adapters (LoRA): small trained additions to matrices that keep their values.
#pragma once

#include <string>
#include <vector>

#include "nn/weights/weights.h"

namespace heed {

// To each chosen matrix W [out, in] is added (alpha / rank) B A, with A [rank, in] drawn from N(0, 1 / in) and B
// [out, rank] zero at first. Dropout is of what A multiplies.
struct AdapterConfig {
  int64_t rank = 0;  // 0: no adapters
  double alpha = 16.0;
  double dropout = 0.0;
  std::vector<std::string> matrices{"*attention*"};  // patterns of names; see base/text/pattern.h

  bool operator==(const AdapterConfig&) const = default;
  double scale() const { return alpha / static_cast<double>(rank); }
  // Throws ConfigError, with a message that a user can act on.
  void validate() const;
};

// Whether a weight is a matrix of a hidden layer, or several that are stacked in one: neither an embedding,
// nor the output projection or a head, whose rows are tokens or labels.
bool is_hidden_matrix(const Weight& weight);

// Registers the adapters of a complete model, as "layer.adapter_a" and "layer.adapter_b" for "layer.weight", and
// returns the names of the matrices that got one. ConfigError for a pattern that matches none.
std::vector<std::string> add_adapters(Weights& weights, const AdapterConfig& config);

struct AdapterNames {
  std::string a, b;
};
AdapterNames adapter_names(std::string_view matrix);
bool is_adapter(const Weight& weight);

// Which weights match one of the patterns, by their number. ConfigError, naming `key` and the nearest weight, for a
// pattern that matches none.
std::vector<bool> matching_weights(const Weights& weights, const std::vector<std::string>& patterns,
                                   std::string_view key);

}  // namespace heed
