#include "nn/embedding.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

#include "nn/bigrams.h"
#include "ops/rows/drop.h"

namespace heed {
namespace {

constexpr int64_t kFirstPositions = 64;

// What a column holds of a position.
struct SinusoidColumn {
  bool is_sine;
  double frequency;
};

SinusoidColumn sinusoid_in(int64_t column, const Sinusoids& sinusoids) {
  const int64_t pairs = sinusoids.model / 2;
  const bool interleaved = sinusoids.layout == SinusoidLayout::interleaved;
  const bool is_sine = interleaved ? column % 2 == 0 : column < pairs;
  const int64_t pair = interleaved ? column / 2 : column % pairs;
  const double share = sinusoids.layout == SinusoidLayout::halves_inclusive
                           ? static_cast<double>(pair) / static_cast<double>(std::max<int64_t>(1, pairs - 1))
                           : static_cast<double>(2 * pair) / static_cast<double>(sinusoids.model);
  return {is_sine, std::pow(10000.0, -share)};
}

}  // namespace

Tensor sinusoidal_positions(int64_t rows, const Sinusoids& sinusoids, DType type) {
  Tensor table({rows, sinusoids.model}, type);
  std::vector<SinusoidColumn> columns;
  for (int64_t c = 0; c < sinusoids.model; ++c) {
    columns.push_back(sinusoid_in(c, sinusoids));
  }
  for (int64_t p = 0; p < rows; ++p) {
    for (int64_t c = 0; c < sinusoids.model; ++c) {
      const auto& [is_sine, frequency] = columns[static_cast<size_t>(c)];
      const double angle = static_cast<double>(sinusoids.first + p) * frequency;
      const double value = is_sine ? std::sin(angle) : std::cos(angle);
      if (type == DType::f64) {
        host<double>(table.view())(p, c) = value;
      } else {
        host<float>(table.view())(p, c) = static_cast<float>(value);
      }
    }
  }
  return table;
}

std::shared_ptr<const Tensor> SinusoidalPositions::reaching(int64_t count, Backend& backend) {
  const std::lock_guard lock(mutex_);
  const int64_t there = table_ == nullptr ? 0 : table_->shape()[0];
  if (count > there) {
    const int64_t rows = std::max(count, std::min(max_length_, std::max(kFirstPositions, 2 * count)));
    Tensor table = sinusoidal_positions(rows, sinusoids_, backend.master_type());
    if (backend.device() != Device::cpu) {
      const Tensor on_host = std::move(table);
      table = backend.keep(on_host.shape(), on_host.type());
      backend.copy(on_host.view(), table.view());
    }
    table_ = std::make_shared<const Tensor>(std::move(table));
  }
  return table_;
}

Embedding::Embedding(const Scope& scope, const Options& options)
    : positions_(options.positions),
      max_length_(options.max_length),
      offset_(are_learned(options.positions) ? options.position_offset : 0),
      vocabulary_(options.vocabulary),
      bigrams_(options.bigrams),
      added_at_(options.added_at),
      dropout_{scope.site("dropout"), options.dropout},
      op_{options.scale, options.norm ? DropoutSite() : dropout_, {&scope.parts(), options.vocabulary}} {
  const int64_t width = options.width > 0 ? options.width : options.model,
                added = added_at_ == AddedAt::width_of_model ? options.model : width;
  table_ = options.shared != nullptr ? options.shared
                                     : &scope.add("tokens", WeightRole::token_embedding, {options.vocabulary, width},
                                                  options.use, options.initialization, Division::rows());
  if (positions_ == Positions::sinusoidal) {
    sinusoidal_ =
        std::make_unique<SinusoidalPositions>(max_length_, Sinusoids{added, options.sinusoid, options.position_offset});
  }
  if (are_learned(positions_)) {
    learned_positions_ = &scope.add("positions", WeightRole::position_embedding, {options.max_length + offset_, added},
                                    WeightUse::table, options.initialization);
  }
  if (options.token_types > 0) {
    types_ = &scope.add("types", WeightRole::type_embedding, {options.token_types, added}, WeightUse::table,
                        options.initialization);
  }
  if (options.bigrams > 0) {
    types_ = &scope.add("bigrams", WeightRole::bigram_embedding, {options.bigrams, added}, WeightUse::table,
                        Initialization::zeros());
  }
  if (options.norm) {
    norm_.emplace(scope / "norm", WeightRole::embedding_norm, *options.norm);
  }
  if (options.width > 0) {
    projection_.emplace(scope / "projection", Linear::Options{.inputs = width,
                                                              .outputs = options.model,
                                                              .bias = options.projection_bias,
                                                              .initialization = options.projection,
                                                              .op = {},
                                                              .roles = {{WeightRole::embedding_projection}}});
  }
}

std::span<const int32_t> Embedding::rows_of_positions(const Sequences& sequences, std::vector<int32_t>& shifted) const {
  if (offset_ == 0) {
    return sequences.positions();
  }
  std::ranges::transform(sequences.positions(), std::back_inserter(shifted),
                         [this](int32_t position) { return position + static_cast<int32_t>(offset_); });
  return shifted;
}

// Each token's row in the table of types, or of bigrams; empty without either.
std::vector<int32_t> Embedding::rows_of_types(const Sequences& sequences) const {
  if (bigrams_ > 0) {
    return bigram_rows(sequences, vocabulary_, bigrams_);
  }
  if (types_ != nullptr && sequences.types().empty()) {
    return std::vector<int32_t>(static_cast<size_t>(sequences.rows()));
  }
  return sequences.types();
}

Var Embedding::project_and_add(Pass& pass, const Sequences& sequences, std::span<const int32_t> positions) const {
  const uint64_t first_row = sequences.segments().first_row();
  EmbeddingOptions tokens_alone = op_;
  tokens_alone.dropout = {};
  Var sum = embedding(pass, sequences.tokens(), positions, first_row, *table_, {}, tokens_alone);
  sum = projection_ ? (*projection_)(pass, sum) : sum;
  if (learned_positions_ != nullptr) {
    const Tokens rows({positions.begin(), positions.end()});
    sum = add(pass, sum, embedding(pass, rows, positions, first_row, *learned_positions_, {}, {}), {});
  }
  sum = norm_ ? (*norm_)(pass, sum) : sum;
  drop(pass, sum, dropout_);
  return sum;
}

Var Embedding::operator()(Pass& pass, const Sequences& sequences) const {
  require(positions_ == Positions::none || sequences.segments().max_length() <= max_length_, "embedding",
          "a sequence of {} tokens, but positions for {}", sequences.segments().max_length(), max_length_);
  std::shared_ptr<const Tensor> sinusoids;
  if (sinusoidal_ != nullptr && sequences.rows() > 0) {
    sinusoids = sinusoidal_->reaching(std::ranges::max(sequences.positions()) + 1, pass.backend());
  }
  std::vector<int32_t> shifted;
  const std::span<const int32_t> positions = rows_of_positions(sequences, shifted);
  if (added_at_ == AddedAt::width_of_model) {
    return project_and_add(pass, sequences, positions);
  }
  Var sum = embedding(pass, sequences.tokens(), positions, sequences.segments().first_row(), *table_,
                      {sinusoids == nullptr ? View() : sinusoids->view(), learned_positions_}, op_,
                      {types_, rows_of_types(sequences)});
  if (norm_) {
    sum = (*norm_)(pass, sum);
    drop(pass, sum, dropout_);
  }
  return projection_ ? (*projection_)(pass, sum) : sum;
}

}  // namespace heed
