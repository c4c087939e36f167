// Token embedding with positions.
#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include "nn/norm.h"
#include "ops/rows/embedding.h"
#include "tensor/sequences.h"

namespace heed {

enum class Positions : uint8_t {
  none,
  sinusoidal,
  learned,
  learned_relative_bias,  // both of these
  rotary,
  alibi,
  relative_bias,
  relative_keys,
  relative_keys_values
};

inline bool are_learned(Positions positions) {
  return positions == Positions::learned || positions == Positions::learned_relative_bias;
}

// Where sines and cosines are, and the frequencies f(i), for i from 0 to model / 2 - 1:
//   interleaved:       sin(p f(i)) in column 2i, the cosine in 2i + 1; f(i) = 10000^(-2i / model)
//   halves:            sin(p f(i)) in column i, the cosine in model / 2 + i; the same frequencies
//   halves_inclusive:  the same columns; f(i) = 10000^(-i / (model / 2 - 1)), so that the last is 1 / 10000
enum class SinusoidLayout : uint8_t { interleaved, halves, halves_inclusive };

// Where tables are narrower than the model: what is added to a token's row, and the norm of the sum, are as wide as the
// tables, and the sum is projected; or they are as wide as the model, and the token's row is projected before.
enum class AddedAt : uint8_t { width_of_tables, width_of_model };

struct Sinusoids {
  int64_t model;
  SinusoidLayout layout = SinusoidLayout::interleaved;
  int64_t first = 0;  // the position of row 0
};
// A row for each of so many positions. Computed in double.
Tensor sinusoidal_positions(int64_t rows, const Sinusoids& sinusoids, DType type);

// The same table, which grows when more rows are needed. Safe to use from several threads at once.
class SinusoidalPositions {
 public:
  SinusoidalPositions(int64_t max_length, const Sinusoids& sinusoids)
      : max_length_(max_length), sinusoids_(sinusoids) {}

  // At least `count` rows, in the backend's memory and its master type.
  std::shared_ptr<const Tensor> reaching(int64_t count, Backend& backend);

 private:
  int64_t max_length_;
  Sinusoids sinusoids_;
  std::mutex mutex_;
  std::shared_ptr<const Tensor> table_;
};

class Embedding {
 public:
  struct Options {
    int64_t vocabulary, model;
    int64_t width = 0;                            // of the tables, before a projection to `model`; 0: as the model
    AddedAt added_at = AddedAt::width_of_tables;  // else positions are learned, or none are added
    Positions positions = Positions::sinusoidal;
    int64_t max_length = 1024;  // of a sequence that there are positions for
    SinusoidLayout sinusoid = SinusoidLayout::interleaved;
    int64_t position_offset = 0;  // the number of a sequence's first position; a learned table has rows before it too
    int64_t token_types = 0;      // kinds of tokens that are told apart by a learned vector each; 0: none are
    int64_t bigrams = 0;          // rows of a table for a token and the one before it, instead of types; 0: none
    double scale = 1.0;
    Initialization initialization;
    std::optional<NormShape> norm;  // of the sum, before its dropout
    Initialization projection;      // where there is one
    Bias projection_bias = Bias::present;
    Probability dropout{0.0F};
    WeightUse use = WeightUse::table;  // of the table: also an output projection?
    const Weight* shared = nullptr;    // use this table instead of an own one
  };

  Embedding(const Scope& scope, const Options& options);

  Var operator()(Pass& pass, const Sequences& sequences) const;
  const Weight& table() const { return *table_; }

 private:
  std::span<const int32_t> rows_of_positions(const Sequences& sequences, std::vector<int32_t>& shifted) const;
  std::vector<int32_t> rows_of_types(const Sequences& sequences) const;
  Var project_and_add(Pass& pass, const Sequences& sequences, std::span<const int32_t> positions) const;

  const Weight* table_;
  const Weight* learned_positions_ = nullptr;
  const Weight* types_ = nullptr;  // or of bigrams
  Positions positions_;
  int64_t max_length_, offset_;  // offset_: of rows of learned positions
  int64_t vocabulary_, bigrams_;
  AddedAt added_at_;
  std::optional<Norm> norm_;
  std::optional<Linear> projection_;
  DropoutSite dropout_;
  EmbeddingOptions op_;
  std::unique_ptr<SinusoidalPositions> sinusoidal_;
};

}  // namespace heed
