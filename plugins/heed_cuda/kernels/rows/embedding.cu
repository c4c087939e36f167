#include "heed_cuda/kernels/machine/sweep.cuh"
#include "heed_cuda/kernels/rows/packed_rows.cuh"
#include "heed_cuda/kernels/rows/row_order.h"
#include "heed_cuda/kernels/rows/rows.h"
#include "heed_cuda/operands.h"

namespace heed::cuda {
namespace {

// A table in either storage type, or packed.
struct AnyTable {
  Matrix<const float> f32;
  Matrix<const bf16> half;
  PackedRows packed;

  bool aligned() const { return all_aligned(f32, half); }
  __host__ __device__ bool empty() const { return f32.empty() && half.empty() && packed.empty(); }
  template <int kWidth>
  __device__ void load(int64_t row, int64_t column, int64_t left, bool aligned, float (&x)[kWidth]) const {
    if (!packed.empty()) {
      for (int64_t j = 0; j < kWidth; ++j) {
        x[j] = j < left ? packed.get(row, column + j) : 0.0F;
      }
    } else if (f32.empty()) {
      if constexpr (kWidth == kPack<bf16>) {
        load_pack(half.row(row) + column, left, aligned, x);
      } else {
        load_pack(half.row(row) + column, left, /*aligned=*/false, x);
      }
    } else {
      load_pack(f32.row(row) + column, left, aligned, x);
    }
  }
};

AnyTable table_of(Operands& operands, const WeightView& table) {
  AnyTable result;
  if (table.empty()) {
    return result;
  }
  if (const auto* const int8 = dynamic_cast<const PackedInt8*>(table.packed)) {
    result.packed = PackedRows::of(*int8);
    return result;
  }
  if (const auto* const int4 = dynamic_cast<const PackedInt4*>(table.packed)) {
    result.packed = PackedRows::of(*int4);
    return result;
  }
  const ConstView matrix =
      table.packed == nullptr ? table.matrix : dynamic_cast<const PackedFloats&>(*table.packed).view();
  if (matrix.type() == DType::bf16) {
    result.half = operands.in<bf16>(matrix);
  } else {
    result.f32 = operands.in<float>(matrix);
  }
  return result;
}

template <class T>
struct EmbedPack {
  const int32_t* tokens;
  AnyTable table;
  float scale;
  const int32_t* position_rows;
  AnyTable positions;
  const int32_t* type_rows;
  AnyTable types;
  Dropout dropout;
  Matrix<T> y;
  bool aligned;

  __device__ void operator()(int64_t r, int64_t c, int64_t left) const {
    float x[kPack<T>] = {};
    const int32_t token = tokens[r];
    if (token >= 0) {
      table.load(token, c, left, aligned, x);
      HEED_UNROLL
      for (int j = 0; j < kPack<T>; ++j) {
        x[j] *= scale;
      }
      add(positions, position_rows, r, c, left, x);
      add(types, type_rows, r, c, left, x);
      drop_pack(dropout, r, c, x);
    }
    store_pack(x, y.row(r) + c, left, aligned);
  }

 private:
  __device__ void add(const AnyTable& other, const int32_t* rows, int64_t r, int64_t c, int64_t left,
                      float (&x)[kPack<T>]) const {
    if (!other.empty()) {
      float added[kPack<T>];
      other.load(rows[r], c, left, aligned, added);
      HEED_UNROLL
      for (int j = 0; j < kPack<T>; ++j) {
        x[j] += added[j];
      }
    }
  }
};

// A gradient that rows are added to, scaled.
struct ScatteredTo {
  OrderedRows rows;
  float scale;
  Matrix<float> to;
};

template <class T>
struct ScatterRows {
  ScatteredTo tables[kMostOrders];
  Matrix<const T> d_y;
  Dropout dropout;
  bool aligned;
};

// A warp for each run of equal keys, and for each kWarp packs of columns, adds the run's rows in their order:
//   to[key] += scale * dropout(d_y[row])
// The warp of the run's first place does it, and reads kAtOnce rows at a time.
template <class T>
__global__ void scatter_kernel(ScatterRows<T> of) {
  constexpr int kWidth = kPack<T>, kAtOnce = 4;
  const ScatteredTo table = of.tables[blockIdx.z];
  const OrderedRows& ordered = table.rows;
  const int64_t first = static_cast<int64_t>(blockIdx.x) * (blockDim.x / kWarp) + threadIdx.x / kWarp;
  const int64_t column = (static_cast<int64_t>(blockIdx.y) * kWarp + threadIdx.x % kWarp) * kWidth;
  const int64_t left = table.to.columns - column;
  if (first >= ordered.count || left <= 0) {
    return;
  }
  const int32_t key = ordered.keys[first];
  if (key < 0 || (first > 0 && ordered.keys[first - 1] == key)) {
    return;
  }
  float sum[kWidth];
  load_pack(table.to.row(key) + column, left, of.aligned, sum);
  for (int64_t place = first; place < ordered.count && ordered.keys[place] == key; place += kAtOnce) {
    float x[kAtOnce][kWidth];
    int64_t row[kAtOnce];
    HEED_UNROLL
    for (int k = 0; k < kAtOnce; ++k) {
      const bool in_run = place + k < ordered.count && ordered.keys[place + k] == key;
      row[k] = in_run ? ordered.rows[place + k] : -1;
      load_pack(of.d_y.row(in_run ? row[k] : 0) + column, in_run ? left : 0, of.aligned, x[k]);
    }
    HEED_UNROLL
    for (int k = 0; k < kAtOnce; ++k) {
      if (row[k] >= 0) {
        drop_pack(of.dropout, row[k], column, x[k]);
        HEED_UNROLL
        for (int j = 0; j < kWidth; ++j) {
          sum[j] += table.scale * x[k][j];
        }
      }
    }
  }
  store_pack(sum, table.to.row(key) + column, left, of.aligned);
}

}  // namespace

void embedding(Context& context, const EmbeddingForward& call) {
  Operands operands(context);
  for_storage(call.y.type(), [&]<class T>(T) {
    EmbedPack<T> of{.tokens = operands.in<int32_t>(call.tokens).data,
                    .table = table_of(operands, call.table),
                    .scale = static_cast<float>(call.scale),
                    .position_rows = operands.in<int32_t>(call.position_rows).data,
                    .positions = table_of(operands, call.positions),
                    .type_rows = operands.in<int32_t>(call.type_rows).data,
                    .types = table_of(operands, call.types),
                    .dropout = call.dropout,
                    .y = operands.out<T>(call.y),
                    .aligned = false};
    of.aligned = all_aligned(of.y) && of.table.aligned() && of.positions.aligned() && of.types.aligned();
    sweep<kPack<T>>(context, of.y.rows, of.y.columns, of);
  });
  operands.finish();
}

void embedding_backward(Context& context, const EmbeddingBackward& call) {
  Operands operands(context);
  for_storage(call.d_y.type(), [&]<class T>(T) {
    ScatterRows<T> of{};
    of.d_y = operands.in<T>(call.d_y);
    of.dropout = call.dropout;
    of.aligned = all_aligned(of.d_y);
    RowKeys keys;
    const auto add_table = [&](const ConstView& rows, double scale, const View& gradient) {
      if (!gradient.empty()) {
        ScatteredTo& table = of.tables[keys.count];
        table.scale = static_cast<float>(scale);
        table.to = operands.in_out<float>(gradient);
        of.aligned = of.aligned && all_aligned(table.to);
        keys.keys[keys.count++] = operands.in<int32_t>(rows).data;
      }
    };
    add_table(call.tokens, call.scale, call.d_table);
    add_table(call.position_rows, 1.0, call.d_positions);
    add_table(call.type_rows, 1.0, call.d_types);
    // Pieces of a fixed size, one after the other, since finding the order is quadratic.
    constexpr int64_t kMostRows = 8192;
    for (int64_t first = 0; first < of.d_y.rows && keys.count > 0; first += kMostRows) {
      const int64_t count = std::min(kMostRows, of.d_y.rows - first);
      const RowOrders orders(context, keys, first, count);
      for (int k = 0; k < keys.count; ++k) {
        of.tables[k].rows = orders.of(k);
      }
      Grid grid = grid_of_blocks(ceil_div(count, kThreads / kWarp));
      grid.blocks.y = static_cast<unsigned>(ceil_div(of.d_y.columns, int64_t{kWarp} * kPack<T>));
      grid.blocks.z = static_cast<unsigned>(keys.count);
      launch(context.queue, grid, scatter_kernel<T>, of);
    }
  });
  operands.finish();
}

}  // namespace heed::cuda
