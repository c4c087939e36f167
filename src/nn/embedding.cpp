#include "nn/embedding.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "ops/rows/drop.h"

namespace heed {
namespace {

constexpr int64_t kFirstPositions = 64;

}  // namespace

Tensor sinusoidal_positions(int64_t max_length, Width width, DType type) {
  const int64_t model = width.value;
  Tensor table({max_length, model}, type);
  std::vector<double> frequencies;
  for (int64_t c = 0; c < model; ++c) {
    const int64_t pair_begin = c / 2 * 2;
    frequencies.push_back(std::pow(10000.0, -static_cast<double>(pair_begin) / static_cast<double>(model)));
  }
  for (int64_t p = 0; p < max_length; ++p) {
    for (int64_t c = 0; c < model; ++c) {
      const double angle = static_cast<double>(p) * frequencies[static_cast<size_t>(c)];
      const double value = c % 2 == 0 ? std::sin(angle) : std::cos(angle);
      if (type == DType::f64) {
        host<double>(table.view())(p, c) = value;
      } else {
        host<float>(table.view())(p, c) = static_cast<float>(value);
      }
    }
  }
  return table;
}

std::shared_ptr<const Tensor> SinusoidalPositions::reaching(int64_t count, DType type) {
  const std::lock_guard lock(mutex_);
  const int64_t there = table_ == nullptr ? 0 : table_->shape()[0];
  if (count > there) {
    const int64_t rows = std::max(count, std::min(max_length_, std::max(kFirstPositions, 2 * count)));
    table_ = std::make_shared<const Tensor>(sinusoidal_positions(rows, model_, type));
  }
  return table_;
}

Embedding::Embedding(const Scope& scope, const Options& options)
    : positions_(options.positions),
      max_length_(options.max_length),
      dropout_{scope.site("dropout"), options.dropout},
      op_{options.scale, options.norm ? DropoutSite() : dropout_, {&scope.parts(), options.vocabulary}} {
  table_ = options.shared != nullptr
               ? options.shared
               : &scope.add("tokens", WeightRole::token_embedding, {options.vocabulary, options.model}, options.use,
                            options.initialization, Division::rows());
  if (positions_ == Positions::sinusoidal) {
    sinusoidal_ = std::make_unique<SinusoidalPositions>(max_length_, Width(options.model));
  }
  if (positions_ == Positions::learned) {
    learned_positions_ = &scope.add("positions", WeightRole::position_embedding, {options.max_length, options.model},
                                    WeightUse::table, options.initialization);
  }
  if (options.token_types > 0) {
    types_ = &scope.add("types", WeightRole::type_embedding, {options.token_types, options.model}, WeightUse::table,
                        options.initialization);
  }
  if (options.norm) {
    norm_.emplace(scope / "norm", WeightRole::embedding_norm, *options.norm);
  }
}

Var Embedding::operator()(Pass& pass, const Sequences& sequences) const {
  require(positions_ == Positions::none || sequences.segments().max_length() <= max_length_, "embedding",
          "a sequence of {} tokens, but positions for {}", sequences.segments().max_length(), max_length_);
  std::shared_ptr<const Tensor> sinusoids;
  if (sinusoidal_ != nullptr && sequences.rows() > 0) {
    sinusoids = sinusoidal_->reaching(std::ranges::max(sequences.positions()) + 1, pass.backend().master_type());
  }
  const std::vector<int32_t> all_of_first_type(
      types_ != nullptr && sequences.types().empty() ? static_cast<size_t>(sequences.rows()) : 0);
  Var sum = embedding(pass, sequences.tokens(), sequences.positions(), sequences.segments().first_row(), *table_,
                      {sinusoids == nullptr ? View() : sinusoids->view(), learned_positions_}, op_,
                      {types_, sequences.types().empty() ? all_of_first_type : sequences.types()});
  if (!norm_) {
    return sum;
  }
  Var normed = (*norm_)(pass, sum);
  drop(pass, normed, dropout_);
  return normed;
}

}  // namespace heed
