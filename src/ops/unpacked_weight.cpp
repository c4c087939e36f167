// Its rows, looked up in their order: W[r, c] = scale * integer, rounded once to `type`.
#include "ops/unpacked_weight.h"

#include <numeric>
#include <vector>

#include "kernels/calls/rows.h"
#include "kernels/host_copy.h"

namespace heed {

UnpackedWeight::UnpackedWeight(Backend& backend, const Weight& weight, DType type) : view_(weight.value()) {
  if (!weight.is_unpacked_for_products()) {
    return;
  }
  std::vector<int32_t> rows(static_cast<size_t>(view_.rows()));
  std::iota(rows.begin(), rows.end(), 0);
  const Tensor numbers({view_.rows()}, DType::i32, backend.arena());
  put_values(backend, rows, numbers.view());
  matrix_ = Tensor({view_.rows(), view_.columns()}, type, backend.arena());
  backend.embedding({.tokens = numbers.view(), .table = view_, .y = matrix_.view()});
  view_ = {matrix_.view()};
}

}  // namespace heed
