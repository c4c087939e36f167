// The models that the training and decoding benchmarks time.
#pragma once

#include "bench/bench.h"
#include "models/config.h"

namespace heed {

struct BenchShape {
  std::string name;
  Architecture architecture;
  int64_t model, inner, heads, layers, vocabulary, sequences, length;
};

const std::vector<BenchShape>& bench_shapes();
// ConfigError, naming the nearest of `names`, where they have none of that name.
const BenchShape& shape_named(const std::string& name, const std::vector<std::string>& names);
ModelConfig config_of(const BenchShape& shape);

}  // namespace heed
