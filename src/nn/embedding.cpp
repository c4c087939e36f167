#include "nn/embedding.h"

#include <cmath>

namespace heed {

Tensor sinusoidal_positions(int64_t longest, Width width, DType type) {
  const int64_t model = width.value;
  Tensor table({longest, model}, type);
  for (int64_t p = 0; p < longest; ++p) {
    for (int64_t c = 0; c < model; ++c) {
      const int64_t pair_begin = c / 2 * 2;
      const double exponent = static_cast<double>(pair_begin) / static_cast<double>(model);
      const double angle = static_cast<double>(p) * std::pow(10000.0, -exponent);
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

Embedding::Embedding(const Scope& scope, const Options& options)
    : positions_(options.positions),
      longest_(options.longest),
      op_{options.scale, {scope.site("dropout"), options.dropout}} {
  table_ = options.shared != nullptr
               ? options.shared
               : &scope.add("tokens", {options.vocabulary, options.model}, options.initialization);
  if (positions_ == Positions::learned) {
    learned_positions_ = &scope.add("positions", {options.longest, options.model}, options.initialization);
  }
}

Var Embedding::operator()(Pass& pass, const Sequences& sequences) const {
  require(positions_ == Positions::none || sequences.segments().longest() <= longest_, "embedding",
          "a sequence of {} tokens, but positions for {}", sequences.segments().longest(), longest_);
  if (positions_ == Positions::sinusoidal && fixed_positions_.empty()) {
    fixed_positions_ = sinusoidal_positions(longest_, Width(table_->shape()[1]), pass.backend().master_type());
  }
  return embedding(pass, sequences.tokens(), sequences.places(), sequences.segments().first_row(), *table_,
                   {fixed_positions_.view(), learned_positions_}, op_);
}

}  // namespace heed
