// Token embedding with positions.
#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include "nn/batch.h"
#include "nn/norm.h"
#include "ops/rows/embedding.h"

namespace heed {

enum class Positions : uint8_t {
  none,
  sinusoidal,
  learned,
  rotary,
  alibi,
  relative_bias,
  relative_keys,
  relative_keys_values
};

// sin(p / 10000^(2i/model)) in column 2i, the cosine in 2i + 1, for positions [0, max_length). Computed in double.
Tensor sinusoidal_positions(int64_t max_length, Width model, DType type);

// The same table, which grows when more rows are needed. Safe to use from several threads at once.
class SinusoidalPositions {
 public:
  SinusoidalPositions(int64_t max_length, Width model) : max_length_(max_length), model_(model) {}

  // At least `count` rows.
  std::shared_ptr<const Tensor> reaching(int64_t count, DType type);

 private:
  int64_t max_length_;
  Width model_;
  std::mutex mutex_;
  std::shared_ptr<const Tensor> table_;
};

class Embedding {
 public:
  struct Options {
    int64_t vocabulary, model;
    Positions positions = Positions::sinusoidal;
    int64_t max_length = 1024;  // of a sequence that there are positions for
    int64_t token_types = 0;    // kinds of tokens that are told apart by a learned vector each; 0: none are
    double scale = 1.0;
    Initialization initialization;
    std::optional<NormShape> norm;  // of the sum, before its dropout
    Probability dropout{0.0F};
    WeightUse use = WeightUse::table;  // of the table: also an output projection?
    const Weight* shared = nullptr;    // use this table instead of an own one
  };

  Embedding(const Scope& scope, const Options& options);

  Var operator()(Pass& pass, const Sequences& sequences) const;
  const Weight& table() const { return *table_; }

 private:
  const Weight* table_;
  const Weight* learned_positions_ = nullptr;
  const Weight* types_ = nullptr;
  Positions positions_;
  int64_t max_length_;
  std::optional<Norm> norm_;
  DropoutSite dropout_;
  EmbeddingOptions op_;
  std::unique_ptr<SinusoidalPositions> sinusoidal_;
};

}  // namespace heed
