#include "kernels/cpu/product/packed_weight.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/rounding.h"
#include "kernels/cpu/elementwise/elements.h"
#include "kernels/cpu/product/integer_kernels.h"
#include "kernels/cpu/product/panel_rows.h"
#include "kernels/cpu/product/product_kernels.h"
#include "kernels/cpu/product/tile_order.h"
#include "kernels/cpu/product/unpacked_rows.h"

namespace heed::cpu {
namespace {

constexpr int64_t kElementsAtOnce = int64_t{1} << 20;  // packed at a time: 4 MB in f32
constexpr int64_t kInt8AtOnce = 4 * kElementsAtOnce;

Element element_of(ProductTypes types, Bf16Products products) {
  if (types.weights == DType::f32) {
    return Element::single;
  }
  return types.inputs == DType::bf16 && products == Bf16Products::pairs ? Element::pair : Element::half;
}

Element element_of(const HalfPanels& panels, DType inputs, Bf16Products products) {
  if (panels.type == HalfType::f16) {
    return Element::f16_pair;
  }
  const ProductTypes types{.weights = DType::bf16, .inputs = inputs};
  return element_of(types, products) == Element::pair ? Element::pair : Element::bf16_pair;
}

// Converts each panel from f32, which holds the bf16 values exactly, to halves.
void halve_panels(Context& context, const Panels& from, float* to) {
  const ProductKernels& kernels = product_kernels();
  const int64_t words = from.depth * kernels.panel_columns;
  context.pool.run(ceil_div(from.columns, kernels.panel_columns), [&](int64_t panel, int) {
    kernels.halve(from.data + panel * words, from.depth, to + panel * words / 2);
  });
}

// The place of a row's half words in a step of Element::half, whose words hold rows r and r + half of the panel's.
int64_t place_of_half(int64_t row, int64_t width) { return 2 * (row % (width / 2)) + row / (width / 2); }

// The memory of a weight that was packed here.
struct OwnInt8 {
  OwnInt8(PanelMemory& memory, const Shape& shape)
      : words(memory.take(panels_of(shape.rows()) * int8_panel_words(shape.columns()))),
        scales(static_cast<size_t>(padded_rows(shape.rows())), 0.0F),
        sums(scales.size(), 0) {}

  std::shared_ptr<Tensor> words;
  std::vector<float> scales;
  std::vector<int32_t> sums;
};

// The same in groups.
struct OwnGroups {
  OwnGroups(PanelMemory& memory, int64_t panel_words, int64_t rows, int64_t groups_of_row)
      : words(memory.take(panels_of(rows) * panel_words)),
        groups(groups_of_row),
        scales(static_cast<size_t>(padded_rows(rows) * groups), 0) {}

  uint16_t& scale(int64_t row, int64_t group) {
    return scales[static_cast<size_t>(group_scale_index(row, group, groups))];
  }
  // Those of some rows of a matrix.
  void copy_scales(const uint16_t* from, std::span<const int32_t> rows) {
    for (int64_t r = 0; r < std::ssize(rows); ++r) {
      for (int64_t group = 0; group < groups; ++group) {
        scale(r, group) = from[group_scale_index(rows[static_cast<size_t>(r)], group, groups)];
      }
    }
  }

  std::shared_ptr<Tensor> words;
  int64_t groups;
  std::vector<uint16_t> scales;  // bits of bf16 or f16
};

uint32_t* words_of(Tensor& memory) { return reinterpret_cast<uint32_t*>(memory.data<float>()); }

// Calls write(rows, number) for each panel of a matrix, padding included, with the rows of W that it has, if any.
template <class Write>
void each_panel(Context& context, const Shape& shape, const RowSource& rows, int64_t elements_at_once, Write write) {
  const int64_t padded = padded_rows(shape.rows());
  const int64_t at_once = std::max<int64_t>(1, elements_at_once / shape.columns() / kPanelRows) * kPanelRows;
  for (int64_t first = 0; first < padded; first += at_once) {
    const int64_t count = std::clamp<int64_t>(shape.rows() - first, 0, at_once);
    const HostView<const int8_t> block = count == 0 ? HostView<const int8_t>{} : host<int8_t>(rows(first, count));
    context.pool.run(ceil_div(std::min(at_once, padded - first), kPanelRows), [&](int64_t panel, int) {
      const int64_t begin = std::min(count, panel * kPanelRows);
      write(
          HostView<const int8_t>{block.row(begin), std::min(count - begin, kPanelRows), shape.columns(), block.stride},
          first / kPanelRows + panel);
    });
  }
}

float low_half(float word) { return std::bit_cast<float>(std::bit_cast<uint32_t>(word) << 16); }
float high_half(float word) { return std::bit_cast<float>(std::bit_cast<uint32_t>(word) & 0xffff0000U); }

// A column of a panel whose words hold two values each, one below the other.
template <HalfType type>
void read_pairs(const float* words, int64_t stride, std::span<float> to) {
  for (size_t k = 0; k < to.size(); k += 2, words += stride) {
    const auto pair = std::bit_cast<uint32_t>(*words);
    to[k] = from_bits(type, static_cast<uint16_t>(pair));
    if (k + 1 < to.size()) {
      to[k + 1] = from_bits(type, static_cast<uint16_t>(pair >> 16U));
    }
  }
}

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

PackedPanels::PackedPanels(Context& context, PanelMemory& memory, const Shape& shape, ProductTypes types,
                           const RowSource& rows, Bf16Products products)
    : CpuWeight(shape.rows(), shape.columns()) {
  const Element element = element_of(types, products);
  const int64_t width = columns_of_panel(element), depth = shape.columns();
  const std::shared_ptr<Tensor> taken = memory.take(panel_words(depth, shape.rows(), element));
  memory_ = taken;
  panels_ = {taken->data<float>(), depth, shape.rows(), element};

  const int64_t at_once = std::min(shape.rows(), std::max<int64_t>(1, kElementsAtOnce / depth / width) * width);
  // In mappings of their own, so that nothing of them is left in the heap.
  Arena scratch;
  Tensor converted, widened;
  for (int64_t first = 0; first < shape.rows(); first += at_once) {
    const int64_t count = std::min(at_once, shape.rows() - first);
    ConstView block = rows(first, count);
    if (block.type() != types.weights) {
      if (converted.empty()) {
        converted = Tensor({at_once, depth}, types.weights, scratch);
      }
      const View to = converted.view().row_range(0, count);
      copy(context, block, to);
      block = to;
    }
    float* const to = taken->data<float>() + panel_words(depth, first, element);
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

PackedPanels::PackedPanels(const HalfPanels& panels, DType inputs, Bf16Products products)
    : CpuWeight(panels.shape.rows(), panels.shape.columns()),
      memory_(panels.memory),
      panels_{reinterpret_cast<const float*>(panels.words), panels.shape.columns(), panels.shape.rows(),
              element_of(panels, inputs, products)} {}

PackedPanels::PackedPanels(Context& context, PanelMemory& memory, const Panels& from, std::span<const int32_t> rows)
    : CpuWeight(static_cast<int64_t>(rows.size()), from.depth) {
  const int64_t width = columns_of_panel(from.element), words = panel_words(from.depth, 1, from.element);
  const int64_t panels = ceil_div(CpuWeight::rows(), width);
  const std::shared_ptr<Tensor> taken = memory.take(panels * words);
  memory_ = taken;
  panels_ = {taken->data<float>(), from.depth, CpuWeight::rows(), from.element};
  if (from.element == Element::half) {
    const PanelLayout<uint16_t> layout{width, 2 * words / width, place_of_half};
    select_panel_rows(context, layout, reinterpret_cast<const uint16_t*>(from.data), rows, panels,
                      reinterpret_cast<uint16_t*>(taken->data<float>()));
  } else {
    const PanelLayout<uint32_t> layout{width, words / width};
    select_panel_rows(context, layout, reinterpret_cast<const uint32_t*>(from.data), rows, panels, words_of(*taken));
  }
}

std::unique_ptr<CpuWeight> PackedPanels::select_rows(Context& context, PanelMemory& memory,
                                                     std::span<const int32_t> rows) const {
  return std::make_unique<PackedPanels>(context, memory, panels_, rows);
}

void PackedPanels::read_row(int64_t row, float* to) const {
  const int64_t width = columns_of_panel(panels_.element), depth = panels_.depth;
  const int64_t column = row % width;
  const float* const panel = panels_.data + panel_words(depth, row - column, panels_.element);
  const auto size = static_cast<size_t>(depth);
  switch (panels_.element) {
    case Element::single:
      for (int64_t k = 0; k < depth; ++k) {
        to[k] = panel[k * width + column];
      }
      break;
    case Element::pair:
    case Element::bf16_pair:
    case Element::f16_pair:
      panels_.element == Element::f16_pair ? read_pairs<HalfType::f16>(panel + column, width, {to, size})
                                           : read_pairs<HalfType::bf16>(panel + column, width, {to, size});
      break;
    case Element::half:
      for (int64_t k = 0; k < depth; ++k) {
        const float word = panel[k * (width / 2) + column % (width / 2)];
        to[k] = column < width / 2 ? low_half(word) : high_half(word);
      }
      break;
  }
}

PackedInt8::PackedInt8(const Int8Panels& panels)
    : CpuWeight(panels.shape.rows(), panels.shape.columns()), panels_(panels) {}

PackedInt8::PackedInt8(Context& context, PanelMemory& memory, const Int8Matrix& matrix)
    : CpuWeight(matrix.shape.rows(), matrix.shape.columns()) {
  const auto own = std::make_shared<OwnInt8>(memory, matrix.shape);
  std::copy_n(host<float>(matrix.scales).data, rows(), own->scales.begin());
  each_panel(context, matrix.shape, matrix.values, kInt8AtOnce, [&](const HostView<const int8_t>& from, int64_t panel) {
    write_int8_panel(from, words_of(*own->words) + panel * int8_panel_words(columns()),
                     own->sums.data() + panel * kPanelRows);
  });
  panels_ = {matrix.shape, words_of(*own->words), own->scales.data(), own->sums.data(), matrix.input_scale, own};
}

PackedInt8::PackedInt8(Context& context, PanelMemory& memory, const Int8Panels& from, std::span<const int32_t> rows)
    : CpuWeight(static_cast<int64_t>(rows.size()), from.shape.columns()) {
  const Shape shape{CpuWeight::rows(), columns()};
  const auto own = std::make_shared<OwnInt8>(memory, shape);
  select_panel_rows(context, PanelLayout<uint32_t>{kPanelRows, steps_of_int8(columns())}, from.words, rows,
                    panels_of(shape.rows()), words_of(*own->words));
  for (size_t r = 0; r < rows.size(); ++r) {
    own->scales[r] = from.scales[rows[r]];
    own->sums[r] = from.sums[rows[r]];
  }
  panels_ = {shape, words_of(*own->words), own->scales.data(), own->sums.data(), from.input_scale, own};
}

std::unique_ptr<CpuWeight> PackedInt8::select_rows(Context& context, PanelMemory& memory,
                                                   std::span<const int32_t> rows) const {
  return std::make_unique<PackedInt8>(context, memory, panels_, rows);
}

int64_t PackedInt8::bytes() const {
  const int64_t panels = panels_of(rows());
  return panels *
         (int8_panel_words(columns()) * 4 + kPanelRows * static_cast<int64_t>(sizeof(float) + sizeof(int32_t)));
}

AnyPanels PackedInt8::panels() const {
  return IntegerPanels{.words = panels_.words,
                       .scales = panels_.scales,
                       .sums = panels_.sums,
                       .depth = columns(),
                       .columns = rows(),
                       .input_scale = panels_.input_scale};
}

void PackedInt8::read_row(int64_t row, float* to) const { unpack_row(panels_, row, to); }

PackedInt8Groups::PackedInt8Groups(const Int8GroupPanels& panels)
    : CpuWeight(panels.shape.rows(), panels.shape.columns()), panels_(panels) {}

PackedInt8Groups::PackedInt8Groups(Context& context, PanelMemory& memory, const Int8GroupMatrix& matrix)
    : CpuWeight(matrix.shape.rows(), matrix.shape.columns()) {
  const int64_t groups = columns() / kInt8Group;
  ensure(columns() % kInt8Group == 0, "int8", "{} columns in groups of {}", columns(), kInt8Group);
  const auto own = std::make_shared<OwnGroups>(memory, int8_panel_words(columns()), rows(), groups);
  const HostView<const float> scales = host<float>(matrix.scales);
  each_panel(context, matrix.shape, matrix.values, kInt8AtOnce, [&](const HostView<const int8_t>& from, int64_t panel) {
    write_int8_panel(from, words_of(*own->words) + panel * int8_panel_words(columns()), nullptr);
    for (int64_t r = 0; r < from.rows; ++r) {
      const int64_t row = panel * kPanelRows + r;
      for (int64_t group = 0; group < groups; ++group) {
        own->scale(row, group) = narrowed_half(scales(row, group));
      }
    }
  });
  panels_ = {matrix.shape, words_of(*own->words), own->scales.data(), own};
}

PackedInt8Groups::PackedInt8Groups(Context& context, PanelMemory& memory, const Int8GroupPanels& from,
                                   std::span<const int32_t> rows)
    : CpuWeight(static_cast<int64_t>(rows.size()), from.shape.columns()) {
  const Shape shape{CpuWeight::rows(), columns()};
  const auto own = std::make_shared<OwnGroups>(memory, int8_panel_words(columns()), shape.rows(), from.groups());
  select_panel_rows(context, PanelLayout<uint32_t>{kPanelRows, steps_of_int8(columns())}, from.words, rows,
                    panels_of(shape.rows()), words_of(*own->words));
  own->copy_scales(from.scales, rows);
  panels_ = {shape, words_of(*own->words), own->scales.data(), own};
}

std::unique_ptr<CpuWeight> PackedInt8Groups::select_rows(Context& context, PanelMemory& memory,
                                                         std::span<const int32_t> rows) const {
  return std::make_unique<PackedInt8Groups>(context, memory, panels_, rows);
}

int64_t PackedInt8Groups::bytes() const {
  const int64_t scales = kPanelRows * panels_.groups();
  return panels_of(rows()) * (int8_panel_words(columns()) * 4 + scales * static_cast<int64_t>(sizeof(uint16_t)));
}

AnyPanels PackedInt8Groups::panels() const {
  return IntegerPanels{.bits = IntegerBits::eight_in_groups,
                       .words = panels_.words,
                       .group_scales = panels_.scales,
                       .group_scale_type = HalfType::f16,
                       .group = kInt8Group,
                       .depth = columns(),
                       .columns = rows()};
}

void PackedInt8Groups::read_row(int64_t row, float* to) const { unpack_row(panels_, row, to); }

PackedInt4::PackedInt4(const Int4Panels& panels)
    : CpuWeight(panels.shape.rows(), panels.shape.columns()), panels_(panels) {}

PackedInt4::PackedInt4(Context& context, PanelMemory& memory, const Int4Matrix& matrix)
    : CpuWeight(matrix.shape.rows(), matrix.shape.columns()) {
  const int64_t groups = columns() / kInt4Group;
  ensure(columns() % kInt4Group == 0, "int4", "{} columns in groups of {}", columns(), kInt4Group);
  const auto own = std::make_shared<OwnGroups>(memory, int4_panel_words(columns()), rows(), groups);
  const HostView<const float> scales = host<float>(matrix.scales);
  each_panel(context, matrix.shape, matrix.values, kElementsAtOnce,
             [&](const HostView<const int8_t>& from, int64_t panel) {
               write_int4_panel(from, words_of(*own->words) + panel * int4_panel_words(columns()));
               for (int64_t r = 0; r < from.rows; ++r) {
                 for (int64_t group = 0; group < groups; ++group) {
                   const int64_t row = panel * kPanelRows + r;
                   own->scale(row, group) = to_bits(matrix.scale_type, scales(row, group));
                 }
               }
             });
  panels_ = {matrix.shape, words_of(*own->words), own->scales.data(), matrix.scale_type, kInt4Group, own};
}

PackedInt4::PackedInt4(Context& context, PanelMemory& memory, const Int4Panels& from, std::span<const int32_t> rows)
    : CpuWeight(static_cast<int64_t>(rows.size()), from.shape.columns()) {
  const Shape shape{CpuWeight::rows(), columns()};
  const auto own =
      std::make_shared<OwnGroups>(memory, int4_panel_words(columns()), shape.rows(), columns() / from.group);
  select_panel_rows(context, PanelLayout<uint32_t>{kPanelRows, steps_of_int4(columns())}, from.words, rows,
                    panels_of(shape.rows()), words_of(*own->words));
  own->copy_scales(from.scales, rows);
  panels_ = {shape, words_of(*own->words), own->scales.data(), from.scale_type, from.group, own};
}

std::unique_ptr<CpuWeight> PackedInt4::select_rows(Context& context, PanelMemory& memory,
                                                   std::span<const int32_t> rows) const {
  return std::make_unique<PackedInt4>(context, memory, panels_, rows);
}

int64_t PackedInt4::bytes() const {
  const int64_t scales = kPanelRows * (columns() / panels_.group);
  return panels_of(rows()) * (int4_panel_words(columns()) * 4 + scales * static_cast<int64_t>(sizeof(uint16_t)));
}

AnyPanels PackedInt4::panels() const {
  return IntegerPanels{.bits = IntegerBits::four,
                       .words = panels_.words,
                       .group_scales = panels_.scales,
                       .group_scale_type = panels_.scale_type,
                       .group = panels_.group,
                       .depth = columns(),
                       .columns = rows()};
}

void PackedInt4::read_row(int64_t row, float* to) const { unpack_row(panels_, row, to); }

}  // namespace heed::cpu
