// y[r] = dropout(scale * table[tokens[r]] + position_table[positions[r]] + type_table[types[r]]). With m the dropout
// factors:
//   d_table[t] += scale * sum of (d_y * m)[r] over all r with tokens[r] = t
//   d_position_table[p] += sum of (d_y * m)[r] over all r with positions[r] = p, if it is learned; types likewise
// Where ranks divide the table, each computes the rows whose tokens it has, and zeros elsewhere; y is the sum over the
// ranks, which has the bits of an undivided table. Gradients need no sum.
// Saves the indices.
#include "ops/rows/embedding.h"

#include "kernels/calls/rows.h"
#include "ops/tape.h"
#include "ops/trainable.h"

namespace heed {
namespace {

void require_in_table(std::span<const int32_t> indices, int64_t rows, std::string_view what, std::string_view table) {
  for (size_t r = 0; r < indices.size(); ++r) {
    require(indices[r] >= 0 && indices[r] < rows, "embedding", "{} {} in row {} is outside {} of {} rows", what,
            indices[r], r, table, rows);
  }
}

}  // namespace

Var embedding(Pass& pass, const Tokens& tokens, std::span<const int32_t> positions, uint64_t first_row,
              const Weight& table, const PositionTable& position_table, const EmbeddingOptions& options,
              const TypeTable& type_table) {
  const int64_t rows = tokens.size();
  require(static_cast<int64_t>(positions.size()) == rows, "embedding", "{} tokens at {} positions", rows,
          positions.size());
  require_in_table(tokens.ids(), options.divided.tokens(table.shape()[0]), "token", table.name());
  if (!position_table.empty()) {
    require(position_table.table().columns() == table.shape()[1], "embedding", "positions {} beside {} {}",
            position_table.table().matrix, table.name(), table.shape());
    require_in_table(positions, position_table.table().rows(), "position", "the position table");
  }
  const Weight* const type_weight = type_table.learned;
  if (type_weight != nullptr) {
    require(type_weight->shape()[1] == table.shape()[1], "embedding", "types {} beside {} {}", type_weight->shape(),
            table.name(), table.shape());
    require(static_cast<int64_t>(type_table.types.size()) == rows, "embedding", "{} tokens of {} types", rows,
            type_table.types.size());
    require_in_table(type_table.types, type_weight->shape()[0], "type", type_weight->name());
  }

  Var y(pass.allocate({rows, table.shape()[1]}), first_row);
  EmbeddingOp op{y,
                 pass.indices(options.divided.is_divided() ? options.divided.own_rows(tokens.ids()) : tokens.ids()),
                 pass.indices(positions),
                 &table,
                 position_table.learned,
                 options.scale,
                 pass.dropout(options.dropout, first_row),
                 type_weight == nullptr ? Tensor() : pass.indices(type_table.types),
                 type_weight};
  const auto is_trained = [](const Weight* weight) { return weight != nullptr && weight->is_trained(); };
  y.want_gradient_only_if(table.is_trained() || is_trained(position_table.learned) || is_trained(type_weight));
  pass.backend().embedding({
      .tokens = op.tokens.view(),
      .table = table.value(),
      .scale = options.scale,
      .position_rows = op.positions.view(),
      .positions = position_table.empty() ? WeightView() : position_table.table(),
      .type_rows = op.types.view(),
      .types = type_weight == nullptr ? WeightView() : type_weight->value(),
      .dropout = op.dropout,
      .y = y.value(),
  });
  if (options.divided.is_divided()) {
    options.divided.parts().sum(pass.backend(), y.value());
  }
  if (pass.recording() && y.wants_gradient()) {
    pass.tape().record(std::move(op));
  }
  return y;
}

void EmbeddingOp::backward(Backend& backend) {
  const ConstView d_y = y.gradient();
  if (d_y.empty()) {
    return;
  }
  backend.embedding_backward({
      .tokens = tokens.view(),
      .scale = scale,
      .position_rows = positions.view(),
      .type_rows = types.view(),
      .dropout = dropout,
      .d_y = d_y,
      .d_table = gradient_to_add_to(backend, table),
      .d_positions = gradient_to_add_to(backend, learned_positions),
      .d_types = gradient_to_add_to(backend, learned_types),
  });
}

}  // namespace heed
