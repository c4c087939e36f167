#include "nn/value_embedding.h"

#include "ops/rows/add_columns.h"
#include "ops/rows/embedding.h"

namespace heed {

ValueEmbedding::ValueEmbedding(const Scope& scope, const Weight& table, const NormShape& norm)
    : table_(&table), norm_(scope, WeightRole::value_embedding_norm, norm.from_zero(table.shape()[1])) {}

void ValueEmbedding::add_to(Pass& pass, const Columns& values, const Sequences& sequences) const {
  const Var rows =
      embedding(pass, sequences.tokens(), sequences.positions(), sequences.segments().first_row(), *table_, {}, {});
  add_to_columns(pass, values, norm_(pass, rows));
}

}  // namespace heed
