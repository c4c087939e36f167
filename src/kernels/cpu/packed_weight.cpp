#include "kernels/cpu/packed_weight.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <utility>

#include "kernels/cpu/elements.h"
#include "kernels/cpu/integer_kernels.h"
#include "kernels/cpu/product_kernels.h"
#include "kernels/cpu/tile_order.h"

namespace heed::cpu {
namespace {

constexpr int64_t kElementsAtOnce = int64_t{1} << 20;  // packed at a time: 4 MB in f32
constexpr int64_t kInt8AtOnce = 4 * kElementsAtOnce;

Element element_of(DType format, Bf16Products products) {
  if (format == DType::f32) {
    return Element::single;
  }
  return products == Bf16Products::pairs ? Element::pair : Element::half;
}

// Converts each panel from f32, which holds the bf16 values exactly, to halves.
void halve_panels(Context& context, const Panels& from, float* to) {
  const ProductKernels& kernels = product_kernels();
  const int64_t words = from.depth * kernels.panel_columns;
  context.pool.run((from.columns + kernels.panel_columns - 1) / kernels.panel_columns, [&](int64_t panel, int) {
    kernels.halve(from.data + panel * words, from.depth, to + panel * words / 2);
  });
}

// Writes the columns of a panel of `width` columns: rows of W, four values to a word. A cache line of each row at a time,
// so that the part of the panel that they are spread over stays in the first-level cache. Columns after the last row, and
// values after a row's last one, are 0.
void write_int8_panel(const HostView<int8_t>& from, int64_t width, uint32_t* to) {
  constexpr int64_t kWordsOfLine = 16;
  const int64_t whole = from.columns / 4, steps = steps_of_int8(from.columns);
  if (from.rows < width || whole < steps) {
    std::fill_n(to, width * steps, 0U);
  }
  for (int64_t first = 0; first < whole; first += kWordsOfLine) {
    const int64_t count = std::min(kWordsOfLine, whole - first);
    for (int64_t c = 0; c < from.rows; ++c) {
      uint32_t words[kWordsOfLine];
      std::memcpy(words, from.row(c) + 4 * first, static_cast<size_t>(4 * count));
      for (int64_t i = 0; i < count; ++i) {
        to[(first + i) * width + c] = words[i];
      }
    }
  }
  for (int64_t c = 0; c < from.rows && whole < steps; ++c) {
    std::memcpy(to + whole * width + c, from.row(c) + 4 * whole, static_cast<size_t>(from.columns - 4 * whole));
  }
}

float low_half(float word) { return std::bit_cast<float>(std::bit_cast<uint32_t>(word) << 16); }
float high_half(float word) { return std::bit_cast<float>(std::bit_cast<uint32_t>(word) & 0xffff0000U); }

}  // namespace

std::shared_ptr<Tensor> PanelMemory::take(int64_t elements) {
  std::unique_ptr<Tensor> taken;
  {
    const std::lock_guard lock(mutex_);
    taken = std::make_unique<Tensor>(Shape{elements}, DType::f32, arena_);
  }
  return {taken.release(), [memory = shared_from_this()](Tensor* given_back) {
            const std::lock_guard lock(memory->mutex_);
            const std::unique_ptr<Tensor> released(given_back);
          }};
}

PackedPanels::PackedPanels(Context& context, PanelMemory& memory, const Shape& shape, DType format,
                           const RowSource& rows, Bf16Products products)
    : CpuWeight(shape.rows(), shape.columns(), format) {
  const Element element = element_of(format, products);
  const int64_t width = product_kernels().panel_columns, depth = shape.columns();
  memory_ = memory.take(panel_words(depth, shape.rows(), element));
  panels_ = {memory_->data<float>(), depth, shape.rows(), element};

  const int64_t at_once = std::min(shape.rows(), std::max<int64_t>(1, kElementsAtOnce / depth / width) * width);
  // Of their own mappings, so that nothing of them stays behind in the heap.
  Arena scratch;
  Tensor converted, widened;
  for (int64_t first = 0; first < shape.rows(); first += at_once) {
    const int64_t count = std::min(at_once, shape.rows() - first);
    View block = rows(first, count);
    if (block.type() != format) {
      if (converted.empty()) {
        converted = Tensor({at_once, depth}, format, scratch);
      }
      const View to = converted.view().row_range(0, count);
      copy(context, block, to);
      block = to;
    }
    float* const to = memory_->data<float>() + panel_words(depth, first, element);
    if (element != Element::half) {
      pack_panels(context, {block, Layout::transposed}, element, to);
      continue;
    }
    if (widened.empty()) {
      widened = Tensor({panel_words(depth, at_once, Element::single)}, DType::f32, scratch);
    }
    halve_panels(context, pack_panels(context, {block, Layout::transposed}, Element::single, widened.data<float>()),
                 to);
  }
}

void PackedPanels::read_row(int64_t row, float* to) const {
  const int64_t width = product_kernels().panel_columns, depth = panels_.depth;
  const int64_t column = row % width;
  const float* const panel = panels_.data + panel_words(depth, row - column, panels_.element);
  switch (panels_.element) {
    case Element::single:
      for (int64_t k = 0; k < depth; ++k) {
        to[k] = panel[k * width + column];
      }
      break;
    case Element::pair:
      for (int64_t k = 0; k < depth; ++k) {
        const float word = panel[k / 2 * width + column];
        to[k] = k % 2 == 0 ? low_half(word) : high_half(word);
      }
      break;
    case Element::half:
      for (int64_t k = 0; k < depth; ++k) {
        const float word = panel[k * (width / 2) + column % (width / 2)];
        to[k] = column < width / 2 ? low_half(word) : high_half(word);
      }
      break;
  }
}

PackedInt8::PackedInt8(Context& context, PanelMemory& memory, const Int8Matrix& matrix)
    : CpuWeight(matrix.shape.rows(), matrix.shape.columns(), DType::i8), input_scale_(matrix.input_scale) {
  const int64_t width = product_kernels().panel_columns, depth = columns();
  memory_ = memory.take(integer_panel_words(IntegerBits::eight, depth, rows()));
  scales_.resize(static_cast<size_t>(round_up(rows(), width)), 0.0F);
  sums_.resize(scales_.size(), 0);
  std::copy_n(host<float>(matrix.scales).data, rows(), scales_.begin());
  const int64_t at_once = std::max<int64_t>(1, kInt8AtOnce / depth / width) * width;
  for (int64_t first = 0; first < rows(); first += at_once) {
    pack_rows(context, matrix.values(first, std::min(at_once, rows() - first)), first);
  }
}

// Rows [first, ...) of W, from the beginning of a panel.
void PackedInt8::pack_rows(Context& context, View values, int64_t first) {
  const int64_t width = product_kernels().panel_columns, depth = columns();
  const HostView<int8_t> from = host<int8_t>(values);
  context.pool.run(ceil_div(from.rows, width), [&](int64_t panel, int) {
    const int64_t begin = panel * width, count = std::min(width, from.rows - begin);
    auto* const words = reinterpret_cast<uint32_t*>(memory_->data<float>());
    write_int8_panel(host<int8_t>(values.row_range(begin, count)), width,
                     words + integer_panel_words(IntegerBits::eight, depth, first + begin));
    for (int64_t c = 0; c < count; ++c) {
      const int8_t* const row = from.row(begin + c);
      sums_[static_cast<size_t>(first + begin + c)] = std::accumulate(row, row + depth, int32_t{0});
    }
  });
}

int64_t PackedInt8::bytes() const {
  return memory_->bytes() + static_cast<int64_t>(scales_.size() * sizeof(float) + sums_.size() * sizeof(int32_t));
}

AnyPanels PackedInt8::panels() const {
  return IntegerPanels{.words = reinterpret_cast<const uint32_t*>(memory_->data<float>()),
                       .scales = scales_.data(),
                       .sums = sums_.data(),
                       .depth = columns(),
                       .columns = rows(),
                       .input_scale = input_scale_};
}

void PackedInt8::read_row(int64_t row, float* to) const {
  const int64_t width = product_kernels().panel_columns, column = row % width;
  const uint32_t* const panel = reinterpret_cast<const uint32_t*>(memory_->data<float>()) +
                                integer_panel_words(IntegerBits::eight, columns(), row - column);
  const float scale = scales_[static_cast<size_t>(row)];
  for (int64_t k = 0; k < columns(); ++k) {
    const uint32_t byte = panel[k / 4 * width + column] >> (8 * (k % 4));
    to[k] = scale * static_cast<float>(static_cast<int8_t>(byte));
  }
}

PackedInt4::PackedInt4(Context& context, PanelMemory& memory, const Int4Matrix& matrix)
    : CpuWeight(matrix.shape.rows(), matrix.shape.columns(), DType::i8) {
  const int64_t depth = columns();
  ensure(depth % kInt4Group == 0, "int4", "{} columns in groups of {}", depth, kInt4Group);
  memory_ = memory.take(integer_panel_words(IntegerBits::four, depth, rows()));
  std::fill_n(words(), memory_->elements(), 0U);
  scales_.resize(static_cast<size_t>(int4_scales(depth, rows())), 0);
  const int64_t at_once = std::max<int64_t>(1, kElementsAtOnce / depth);
  for (int64_t first = 0; first < rows(); first += at_once) {
    const HostView<int8_t> block = host<int8_t>(matrix.values(first, std::min(at_once, rows() - first)));
    context.pool.run(block.rows, [&](int64_t r, int) { pack_row(matrix, block.row(r), first + r); });
  }
}

PackedInt4::Column PackedInt4::column_of(int64_t row) const {
  const int64_t half = product_kernels().panel_columns / 2, groups = columns() / kInt4Group;
  const int64_t in_half = row % half, first_of_half = row - in_half;
  return {first_of_half * groups * kInt4GroupWords + in_half, first_of_half * groups + in_half, half};
}

void PackedInt4::pack_row(const Int4Matrix& matrix, const int8_t* values, int64_t row) {
  const Column column = column_of(row);
  for (int64_t k = 0; k < columns(); ++k) {
    const auto value = static_cast<uint32_t>(values[k] + 8);
    words()[column.first_word + k / 8 * column.distance] |= value << (8 * (k % 4) + 4 * (k % 8 / 4));
  }
  const float* const scales = host<float>(matrix.scales).row(row);
  for (int64_t group = 0; group < columns() / kInt4Group; ++group) {
    scales_[static_cast<size_t>(column.first_scale + group * column.distance)] = bf16(scales[group]).bits;
  }
}

int64_t PackedInt4::bytes() const { return memory_->bytes() + static_cast<int64_t>(scales_.size() * sizeof(uint16_t)); }

AnyPanels PackedInt4::panels() const {
  return IntegerPanels{.bits = IntegerBits::four,
                       .words = words(),
                       .group_scales = scales_.data(),
                       .depth = columns(),
                       .columns = rows()};
}

void PackedInt4::read_row(int64_t row, float* to) const {
  const Column column = column_of(row);
  for (int64_t k = 0; k < columns(); ++k) {
    const uint32_t word = words()[column.first_word + k / 8 * column.distance];
    const auto value = static_cast<int32_t>(word >> (8 * (k % 4) + 4 * (k % 8 / 4)) & 15U) - 8;
    bf16 scale;
    scale.bits = scales_[static_cast<size_t>(column.first_scale + k / kInt4Group * column.distance)];
    to[k] = static_cast<float>(scale) * static_cast<float>(value);
  }
}

}  // namespace heed::cpu
