#include "api/inspect/probed_parts.h"

#include <algorithm>
#include <cmath>

namespace heed {
namespace {

// "a.b" of "a.b.c".
std::string path_above(const std::string& path) { return path.substr(0, std::min(path.rfind('.'), path.size())); }

}  // namespace

ProbedPart probed_part(std::string name, const ConstView& values) {
  const auto matrix = host<float>(values);
  ProbedPart part{.name = std::move(name), .rows = matrix.rows, .columns = matrix.columns};
  const auto count = static_cast<double>(std::max<int64_t>(1, values.elements()));
  double sum = 0.0, squares = 0.0;
  part.minimum = part.maximum = values.elements() == 0 ? 0.0 : static_cast<double>(matrix(0, 0));
  const auto each = [&](const auto& visit) {
    for (int64_t row = 0; row < matrix.rows; ++row) {
      for (int64_t column = 0; column < matrix.columns; ++column) {
        visit(static_cast<double>(matrix(row, column)));
      }
    }
  };
  each([&](double value) {
    sum += value;
    part.minimum = std::min(part.minimum, value);
    part.maximum = std::max(part.maximum, value);
  });
  part.mean = sum / count;
  each([&](double value) { squares += (value - part.mean) * (value - part.mean); });
  part.deviation = std::sqrt(squares / count);
  return part;
}

void PartsObserver::recorded(const Op& op) {
  std::visit([this](const auto& kind) { see(kind); }, op);
}

void PartsObserver::add(const std::string& name, const Var& output) {
  parts_.push_back(probed_part(name, output.value()));
  made_.emplace_back(output, name);
}

std::string PartsObserver::sublayer_of(const Var& output, const std::string& otherwise) const {
  const auto it = std::ranges::find_if(made_, [&](const auto& one) { return one.first.same_as(output); });
  return it == made_.end() ? otherwise : path_above(it->second);
}

// Ops that change values in place, choose rows or compute losses have no output of their own to show.
template <class Kind>
void PartsObserver::see(const Kind& op) {
  if constexpr (std::is_same_v<Kind, EmbeddingOp>) {
    const bool of_values = op.table->identity().has(WeightRole::value_embedding);
    add(of_values ? op.table->name() : embedded_ < embeddings_.size() ? embeddings_[embedded_] : "embedding", op.y);
    embedded_ += of_values ? 0 : 1;
  } else if constexpr (std::is_same_v<Kind, LinearOp>) {
    add(path_above(op.weights.weight->name()), op.y);
  } else if constexpr (std::is_same_v<Kind, GateOp>) {
    add(sublayer_of(op.x, "feed_forward") + ".gate", op.y);
  } else if constexpr (std::is_same_v<Kind, AttentionOp> || std::is_same_v<Kind, LinearAttentionOp>) {
    add(sublayer_of(op.inputs.values.var, "attention") + ".heads", op.output);
  } else if constexpr (std::is_same_v<Kind, AddNormOp>) {
    if (!op.branch.empty()) {
      add(sublayer_of(op.branch, "residual") + ".sum", op.sum);
    }
    if (!op.normed.empty()) {
      add(path_above(op.weights.gain->name()), op.normed);
    }
  } else if constexpr (std::is_same_v<Kind, HeadNormOp>) {
    add(path_above(op.weights.gain->name()), op.normed);
  } else if constexpr (std::is_same_v<Kind, PoolOp> || std::is_same_v<Kind, SelectRowsOp>) {
    add("pool", op.y);
  }
}

}  // namespace heed
