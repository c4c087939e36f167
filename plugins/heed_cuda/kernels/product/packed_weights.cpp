#include "heed_cuda/kernels/product/packed_weights.h"

#include <algorithm>
#include <vector>

#include "base/rounding.h"
#include "heed_cuda/kernels/product/products.h"
#include "heed_cuda/kernels/product/selected_rows.h"

namespace heed::cuda {
namespace {

constexpr int64_t kRowAlignment = 16;                  // bytes
constexpr int64_t kElementsAtOnce = int64_t{1} << 20;  // that are converted on the host before they are brought

int64_t padded_columns(int64_t columns, DType type) { return round_up(columns, kRowAlignment / size_of(type)); }
int64_t int4_blocks(int64_t columns) { return ceil_div(columns, kInt4Block); }

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
  const int64_t size = size_of(to.type());
  const Block2d block{rows.rows(), rows.columns() * size, rows.stride() * size, to.stride() * size};
  if (rows.device() != Device::cpu) {
    ensure(rows.type() == to.type(), "cuda", "{} is packed as {}", rows, name_of(to.type()));
    context.queue.copy(device_address(rows), device_address(to), block);
  } else if (rows.type() == to.type()) {
    context.queue.upload(host_address(rows), device_address(to), block);
  } else {
    bring(context, rounded_rows(rows, to.type()).view(), to);
  }
}

// Brings the rows of a matrix that body(r, row) writes on the host, all of whose bytes are zeros before.
template <class T, class Body>
void bring_rows(Context& context, const View& to, const Body& body) {
  const int64_t at_once = std::max<int64_t>(1, kElementsAtOnce / std::max<int64_t>(1, to.columns()));
  for (int64_t first = 0; first < to.rows(); first += at_once) {
    const int64_t count = std::min(at_once, to.rows() - first);
    Tensor part({count, to.columns()}, to.type());
    for (int64_t r = 0; r < count; ++r) {
      body(first + r, host<T>(part.view()).row(r));
    }
    bring(context, part.view(), to.row_range(first, count));
  }
}

// row_values(r)(c): floats, of rows in order
template <class RowValues>
std::unique_ptr<PackedWeight> pack_floats(Context& context, const Shape& shape, DType type,
                                          const RowValues& row_values) {
  auto packed = std::make_unique<PackedFloats>(shape, type, context.arena);
  const auto bring_as = [&]<class T>(T /*type*/) {
    bring_rows<T>(context, packed->memory.view(), [&](int64_t r, T* row) {
      const auto values = row_values(r);
      for (int64_t c = 0; c < shape.columns(); ++c) {
        row[c] = T(values(c));
      }
    });
  };
  type == DType::bf16 ? bring_as(bf16{}) : bring_as(float{});
  context.queue.wait();  // other lanes may read it
  return packed;
}

// row_values(r)(c): from -8 to 7, of rows in order; scales(r, group of 32 columns)
template <class RowValues, class Scales>
std::unique_ptr<PackedWeight> pack_int4(Context& context, const Shape& shape, HalfType scale_type,
                                        const RowValues& row_values, const Scales& scales) {
  auto packed = std::make_unique<PackedInt4>(shape, scale_type, context.arena);
  bring_rows<int8_t>(context, packed->values.view(), [&](int64_t r, int8_t* row) {
    std::fill_n(row, packed->values.view().columns(), int8_t{-0x78});  // zeros: 8 in both halves
    const auto values = row_values(r);
    for (int64_t c = 0; c < shape.columns(); ++c) {
      auto bits = static_cast<unsigned>(static_cast<uint8_t>(row[int4_byte(c)]));
      const auto value = static_cast<unsigned>(values(c) + 8);
      bits = in_high_half(c) ? (bits & 0x0fU) | value << 4 : (bits & 0xf0U) | value;
      row[int4_byte(c)] = static_cast<int8_t>(bits);
    }
  });
  bring_rows<bf16>(context, packed->scales.view(), [&](int64_t r, bf16* row) {
    for (int64_t group = 0; group < shape.columns() / kInt4Group; ++group) {
      row[group].bits = to_bits(scale_type, scales(r, group));
    }
  });
  context.queue.wait();  // other lanes may read it
  return packed;
}

}  // namespace

PackedFloats::PackedFloats(const Shape& shape, DType type, Arena& arena)
    : PackedWeight(shape.rows(), shape.columns()),
      memory({shape.rows(), padded_columns(shape.columns(), type)}, type, arena) {}

PackedInt8::PackedInt8(const Shape& shape, float input_scale_of_rows, Arena& arena)
    : PackedWeight(shape.rows(), shape.columns()),
      values({shape.rows(), padded_columns(shape.columns(), DType::i8)}, DType::i8, arena),
      scales({shape.rows(), 1}, DType::f32, arena),
      input_scale(input_scale_of_rows) {}

PackedInt4::PackedInt4(const Shape& shape, HalfType type_of_scales, Arena& arena)
    : PackedWeight(shape.rows(), shape.columns()),
      values({shape.rows(), int4_blocks(shape.columns()) * kInt4BlockBytes}, DType::i8, arena),
      scales({shape.rows(), int4_blocks(shape.columns()) * kGroupsOfInt4Block}, DType::bf16, arena),
      scale_type(type_of_scales) {}

std::unique_ptr<PackedWeight> pack(Context& context, const Shape& shape, ProductTypes types, const RowSource& rows) {
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

std::unique_ptr<PackedWeight> pack(Context& context, const Int8Matrix& matrix) {
  auto packed = std::make_unique<PackedInt8>(matrix.shape, matrix.input_scale, context.arena);
  const int64_t rows = packed->rows(), columns = packed->columns();
  const View values = packed->values.view().column_range(0, columns);
  const int64_t at_once = std::max<int64_t>(1, kElementsAtOnce / std::max<int64_t>(1, columns));
  for (int64_t first = 0; first < rows; first += at_once) {
    const int64_t count = std::min(at_once, rows - first);
    bring(context, matrix.values(first, count), values.row_range(first, count));
  }
  bring(context, matrix.scales.as_column(), packed->scales.view());
  context.queue.wait();
  return packed;
}

std::unique_ptr<PackedWeight> pack(Context& context, const Int8Panels& panels) {
  auto packed = std::make_unique<PackedInt8>(panels.shape, panels.input_scale, context.arena);
  bring_rows<int8_t>(context, packed->values.view(), [&](int64_t r, int8_t* row) {
    for (int64_t c = 0; c < packed->columns(); ++c) {
      row[c] = panels.value(r, c);
    }
  });
  bring(context, ConstView(panels.scales, DType::f32, packed->rows(), 1, 1), packed->scales.view());
  context.queue.wait();
  return packed;
}

std::unique_ptr<PackedWeight> pack(Context& context, const Int4Matrix& matrix) {
  const auto row_values = [&](int64_t r) {
    return [row = host<int8_t>(matrix.values(r, 1))](int64_t c) { return row(0, c); };
  };
  return pack_int4(context, matrix.shape, matrix.scale_type, row_values, host<float>(matrix.scales));
}

std::unique_ptr<PackedWeight> pack(Context& context, const Int4Panels& panels) {
  return pack_int4(
      context, panels.shape, panels.scale_type,
      [&](int64_t r) { return [&panels, r](int64_t c) { return panels.value(r, c); }; },
      [&](int64_t r, int64_t group) { return panels.scale(r, group * kInt4Group); });
}

std::unique_ptr<PackedWeight> pack(Context& context, const Int8GroupMatrix& matrix, DType inputs) {
  const HostView<const float> scales = host<float>(matrix.scales);
  return pack_floats(context, matrix.shape, inputs, [&](int64_t r) {
    return [row = host<int8_t>(matrix.values(r, 1)), &scales, r](int64_t c) {
      return static_cast<float>(row(0, c)) * scales(r, c / kInt8Group);
    };
  });
}

std::unique_ptr<PackedWeight> pack(Context& context, const Int8GroupPanels& panels, DType inputs) {
  return pack_floats(context, panels.shape, inputs, [&](int64_t r) {
    return [&panels, r](int64_t c) { return static_cast<float>(panels.value(r, c)) * panels.scale(r, c); };
  });
}

// f16 is widened: f32 holds its values, bf16 does not.
std::unique_ptr<PackedWeight> pack(Context& context, const HalfPanels& panels, DType /*inputs*/) {
  const DType type = panels.type == HalfType::bf16 ? DType::bf16 : DType::f32;
  return pack_floats(context, panels.shape, type,
                     [&](int64_t r) { return [&panels, r](int64_t c) { return panels.value(r, c); }; });
}

std::unique_ptr<PackedWeight> select_packed_rows(Context& context, const PackedWeight& matrix,
                                                 std::span<const int32_t> rows) {
  const Shape shape{std::ssize(rows), matrix.columns()};
  if (const auto* const int8 = dynamic_cast<const PackedInt8*>(&matrix)) {
    auto selected = std::make_unique<PackedInt8>(shape, int8->input_scale, context.arena);
    copy_selected_rows(context, int8->values, rows, selected->values);
    copy_selected_rows(context, int8->scales, rows, selected->scales);
    return selected;
  }
  if (const auto* const int4 = dynamic_cast<const PackedInt4*>(&matrix)) {
    auto selected = std::make_unique<PackedInt4>(shape, int4->scale_type, context.arena);
    copy_selected_rows(context, int4->values, rows, selected->values);
    copy_selected_rows(context, int4->scales, rows, selected->scales);
    return selected;
  }
  const auto& floats = dynamic_cast<const PackedFloats&>(matrix);
  auto selected = std::make_unique<PackedFloats>(shape, floats.memory.type(), context.arena);
  copy_selected_rows(context, floats.memory, rows, selected->memory);
  return selected;
}

}  // namespace heed::cuda
