#include "kernels/cpu/rows/embedding.h"

#include <algorithm>

#include "base/rounding.h"
#include "kernels/cpu/machine/row_groups.h"
#include "kernels/cpu/product/packed_weight.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/rows/embedding.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h first: it compiles what follows once per instruction set.
#include "kernels/cpu/machine/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu::HWY_NAMESPACE {
namespace {

// Row `index` of a table in f32: in place, or converted into `scratch`.
const float* row_of(const WeightView& table, int64_t index, float* scratch) {
  if (table.packed != nullptr) {
    static_cast<const CpuWeight*>(table.packed)->read_row(index, scratch);
    return scratch;
  }
  if (table.matrix.type() == DType::f32) {
    return host<float>(table.matrix).row(index);
  }
  const bf16* const row = host<bf16>(table.matrix).row(index);
  each_vector(table.columns(),
              [&](int64_t c, int64_t left) HWY_ATTR { store_upto(load_upto(row + c, left), scratch + c, left); });
  return scratch;
}

template <class T>
void embedding_row(const EmbeddingForward& call, int64_t r, float* scratch) {
  const int32_t token = host<int32_t>(call.tokens).data[r];
  if (token < 0) {
    std::fill_n(host<T>(call.y).row(r), call.y.columns(), T());
    return;
  }
  const float* const row = row_of(call.table, token, scratch);
  const float* const position =
      call.positions.empty()
          ? nullptr
          : row_of(call.positions, host<int32_t>(call.position_rows).data[r], scratch + call.y.columns());
  const float* const type =
      call.types.empty() ? nullptr
                         : row_of(call.types, host<int32_t>(call.type_rows).data[r], scratch + 2 * call.y.columns());
  T* const y = host<T>(call.y).row(r);
  const Vec scale = hn::Set(Floats(), static_cast<float>(call.scale));
  DropoutRow drop(call.dropout, r);
  each_vector(call.y.columns(), [&](int64_t c, int64_t left) HWY_ATTR {
    Vec x = hn::Mul(load_upto(row + c, left), scale);
    if (position != nullptr) {
      x = hn::Add(x, load_upto(position + c, left));
    }
    if (type != nullptr) {
      x = hn::Add(x, load_upto(type + c, left));
    }
    store_upto(drop.apply(x, c), y + c, left);
  });
}

// to += scale * dropout * d_y[r].
template <class T>
void scatter_row(const EmbeddingBackward& call, int64_t r, double factor, float* to) {
  const T* const d_y = host<T>(call.d_y).row(r);
  const Vec scale = hn::Set(Floats(), static_cast<float>(factor));
  DropoutRow drop(call.dropout, r);
  each_vector(call.d_y.columns(), [&](int64_t c, int64_t left) HWY_ATTR {
    const Vec x = drop.apply(hn::Mul(load_upto(d_y + c, left), scale), c);
    store_upto(hn::Add(load_upto(to + c, left), x), to + c, left);
  });
}

}  // namespace

void run_embedding(const EmbeddingForward& call, int64_t begin, int64_t end, float* scratch) {
  for (int64_t r = begin; r < end; ++r) {
    call.y.type() == DType::bf16 ? embedding_row<bf16>(call, r, scratch) : embedding_row<float>(call, r, scratch);
  }
}

void run_scatter(const EmbeddingBackward& call, int64_t r, double factor, float* to) {
  call.d_y.type() == DType::bf16 ? scatter_row<bf16>(call, r, factor, to) : scatter_row<float>(call, r, factor, to);
}

}  // namespace heed::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::cpu {

HWY_EXPORT(run_embedding);
HWY_EXPORT(run_scatter);

namespace {

void scatter(Context& context, const EmbeddingBackward& call, const ConstView& keys, double factor,
             const View& gradient) {
  const HostView<float> to = host<float>(gradient);
  const RowGroups groups(keys, to.rows);
  constexpr int64_t kKeysPerTask = 64;
  context.pool.run(ceil_div(to.rows, kKeysPerTask), [&](int64_t task, int) {
    const int64_t end = std::min(to.rows, (task + 1) * kKeysPerTask);
    for (int64_t key = task * kKeysPerTask; key < end; ++key) {
      for (const int64_t r : groups.of(key)) {
        HWY_DYNAMIC_DISPATCH(run_scatter)(call, r, factor, to.row(key));
      }
    }
  });
}

}  // namespace

void embedding(Context& context, const EmbeddingForward& call) {
  const RowTasks tasks(call.y.rows(), call.y.columns(), context.pool.threads());
  context.pool.run(tasks.count(), [&](int64_t task, int worker) {
    float* const scratch = context.scratch(worker).reserve<float>(3 * call.y.columns());  // a row of each table
    HWY_DYNAMIC_DISPATCH(run_embedding)(call, tasks.begin(task), tasks.end(task), scratch);
  });
}

void embedding_backward(Context& context, const EmbeddingBackward& call) {
  if (!call.d_table.empty()) {
    scatter(context, call, call.tokens, call.scale, call.d_table);
  }
  if (!call.d_positions.empty()) {
    scatter(context, call, call.position_rows, 1.0, call.d_positions);
  }
  if (!call.d_types.empty()) {
    scatter(context, call, call.type_rows, 1.0, call.d_types);
  }
}

}  // namespace heed::cpu
#endif
