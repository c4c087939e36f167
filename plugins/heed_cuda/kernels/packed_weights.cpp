#include "heed_cuda/kernels/packed_weights.h"

#include <vector>

#include "base/rounding.h"
#include "heed_cuda/kernels/products.h"

namespace heed::cuda {
namespace {

constexpr int64_t kRowAlignment = 16;  // bytes

int64_t padded_columns(int64_t columns, DType type) { return round_up(columns, kRowAlignment / size_of(type)); }

// Some rows of a host's matrix in elements of another type.
Tensor rounded_rows(const ConstView& rows, DType type) {
  Tensor result({rows.rows(), rows.columns()}, type);
  const auto value = [&](int64_t r, int64_t c) {
    return rows.type() == DType::bf16 ? static_cast<float>(host<bf16>(rows)(r, c)) : host<float>(rows)(r, c);
  };
  for (int64_t r = 0; r < rows.rows(); ++r) {
    for (int64_t c = 0; c < rows.columns(); ++c) {
      if (type == DType::bf16) {
        host<bf16>(result.view())(r, c) = bf16(value(r, c));
      } else {
        host<float>(result.view())(r, c) = value(r, c);
      }
    }
  }
  return result;
}

void bring(Context& context, const ConstView& rows, const View& to) {
  if (rows.device() != Device::cpu || rows.type() != to.type()) {
    ensure(rows.device() == Device::cpu || rows.type() == to.type(), "cuda", "{} is packed as {}", rows,
           name_of(to.type()));
  }
  const int64_t size = size_of(to.type());
  const Block2d block{rows.rows(), rows.columns() * size, rows.stride() * size, to.stride() * size};
  if (rows.device() != Device::cpu) {
    context.queue.copy(device_address(rows), device_address(to), block);
  } else if (rows.type() == to.type()) {
    context.queue.upload(host_address(rows), device_address(to), block);
  } else {
    bring(context, rounded_rows(rows, to.type()).view(), to);
  }
}

}  // namespace

PackedFloats::PackedFloats(const Shape& shape, DType type, Arena& arena)
    : PackedWeight(shape.rows(), shape.columns()),
      memory({shape.rows(), padded_columns(shape.columns(), type)}, type, arena) {}

std::unique_ptr<PackedWeight> pack(Context& context, const Shape& shape, ProductTypes types, const RowSource& rows) {
  constexpr int64_t kElementsAtOnce = int64_t{1} << 20;
  auto packed = std::make_unique<PackedFloats>(shape, types.weights, context.arena);
  const View memory = packed->memory.view();
  const int64_t at_once = std::max<int64_t>(1, kElementsAtOnce / std::max<int64_t>(1, shape.columns()));
  for (int64_t first = 0; first < shape.rows(); first += at_once) {
    const int64_t count = std::min(at_once, shape.rows() - first);
    bring(context, rows(first, count), memory.row_range(first, count).column_range(0, shape.columns()));
  }
  context.queue.wait();  // other lanes may read it
  return packed;
}

namespace {
[[noreturn]] void no_kernel() { fail<InternalError>("cuda", "products of integers have no kernel yet"); }
}  // namespace

std::unique_ptr<PackedWeight> pack(Context& /*context*/, const Int8Matrix& /*matrix*/) { no_kernel(); }
std::unique_ptr<PackedWeight> pack(Context& /*context*/, const Int4Matrix& /*matrix*/) { no_kernel(); }
std::unique_ptr<PackedWeight> pack(Context& /*context*/, const Int8Panels& /*panels*/) { no_kernel(); }
std::unique_ptr<PackedWeight> pack(Context& /*context*/, const Int4Panels& /*panels*/) { no_kernel(); }
std::unique_ptr<PackedWeight> pack(Context& /*context*/, const HalfPanels& /*panels*/, DType /*inputs*/) {
  no_kernel();
}
std::unique_ptr<PackedWeight> select_packed_rows(Context& /*context*/, const PackedWeight& /*matrix*/,
                                                 std::span<const int32_t> /*rows*/) {
  no_kernel();
}

}  // namespace heed::cuda
