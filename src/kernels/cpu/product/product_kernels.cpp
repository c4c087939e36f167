#include "kernels/cpu/product/product_kernels.h"

#include <algorithm>
#include <type_traits>

#include "base/rounding.h"
#include "kernels/half_panels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/product/product_kernels.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h first: it compiles what follows once per instruction set.
#include "kernels/cpu/product/product_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu::HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
constexpr DepthBlocks kDepthBlocks{512, 512};
#else
constexpr DepthBlocks kDepthBlocks{512, 256};
#endif

// ---- tile product ----

// A step of a panel, as two vectors of its columns.
template <Element element>
HWY_INLINE void load_columns(const float* panel, Vec& first, Vec& second) {
  const Floats d;
  if constexpr (element == Element::half) {
    const WordVec both = hn::BitCast(Words(), hn::Load(d, panel));
    first = hn::BitCast(d, hn::ShiftLeft<16>(both));
    second = hn::BitCast(d, hn::And(both, hn::Set(Words(), 0xffff0000U)));
  } else {
    first = hn::Load(d, panel);
    second = hn::Load(d, panel + lanes());
  }
}

// kPanels neighbouring panels at once: a few rows have too few sums for the latency of a multiply-add in one panel.
template <int Rows, int kPanels, Element element>
void tile_product(int64_t steps, const LeftBlock& a, const float* HWY_RESTRICT panel, int64_t distance,
                  float* HWY_RESTRICT tile, int64_t stride, Write write) {
  const Floats d;
  const int64_t n = lanes();
  Vec sums[Rows][kPanels * kVectors];
#pragma GCC unroll 12
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kPanels * kVectors; ++v) {
      sums[r][v] = write == Write::add ? load(tile + r * stride + v * n) : hn::Zero(d);
    }
  }
  // Three base pointers and one stride reach all rows with the processor's own address arithmetic.
  const float* left[3] = {a.data, a.data + 4 * a.row_stride, a.data + 8 * a.row_stride};
  const int64_t row_words = element == Element::half ? n : 2 * n;
  for (int64_t step = 0; step < steps; ++step) {
    // A whole tile of f32 reads panels that were packed into the cache, fewer rows and halves those of a model in
    // memory.
    constexpr bool kFromCache = Rows == kRows && element == Element::single;
    if constexpr (kFromCache) {
      hwy::Prefetch(panel + 8 * row_words);
      hwy::Prefetch(panel + 17 * n);
    }
    Vec columns[kPanels * kVectors];
#pragma GCC unroll 8
    for (int p = 0; p < kPanels; ++p) {
      if constexpr (!kFromCache) {
        hwy::Prefetch(panel + p * distance + kWordsAhead);
      }
      load_columns<element>(panel + p * distance, columns[p * kVectors], columns[p * kVectors + 1]);
    }
#pragma GCC unroll 12
    for (int r = 0; r < Rows; ++r) {
      const Vec x = hn::Set(d, left[r / 4][r % 4 * a.row_stride]);
#pragma GCC unroll 8
      for (int v = 0; v < kPanels * kVectors; ++v) {
        sums[r][v] = hn::MulAdd(x, columns[v], sums[r][v]);
      }
    }
    panel += row_words;
    left[0] += a.step_stride;
    left[1] += a.step_stride;
    left[2] += a.step_stride;
  }
#pragma GCC unroll 12
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kPanels * kVectors; ++v) {
      store(sums[r][v], tile + r * stride + v * n);
    }
  }
}

// Rows of A times all panels, as many at once as the registers hold sums of.
template <int Rows, Element element>
void multiply_rows(int64_t steps, const LeftBlock& a, const RightBlock& b, float* tile, int64_t stride, Write write) {
  constexpr int kPanels = Rows <= kFewRows ? 4 / Rows : 1;
  int64_t panel = 0;
  const auto product = [&]<int kCount>(std::integral_constant<int, kCount>) {
    for (; panel + kCount <= b.panels; panel += kCount) {
      tile_product<Rows, kCount, element>(steps, a, b.data + panel * b.distance, b.distance,
                                          tile + panel * panel_width(), stride, write);
    }
  };
  product(std::integral_constant<int, kPanels>());
  product(std::integral_constant<int, 1>());
}

using Product = void (*)(int64_t, const LeftBlock&, const RightBlock&, float*, int64_t, Write);

template <Element e>
constexpr Product kProducts[] = {
    multiply_rows<1, e>,  multiply_rows<2, e>,  multiply_rows<3, e>,
    multiply_rows<4, e>,  multiply_rows<5, e>,  multiply_rows<6, e>,
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
    multiply_rows<7, e>,  multiply_rows<8, e>,  multiply_rows<9, e>,
    multiply_rows<10, e>, multiply_rows<11, e>, multiply_rows<12, e>,
#endif
};

template <Element element>
void multiply(int64_t rows, int64_t steps, const LeftBlock& a, const RightBlock& b, float* tile, int64_t stride,
              Write write) {
  kProducts<element>[rows - 1](steps, a, b, tile, stride, write);
}

// ---- reading operands as 4-byte elements: f32, bf16 widened, or a pair of bf16 ----

const uint16_t* halves(const bf16* from) { return reinterpret_cast<const uint16_t*>(from); }

// Elements [k, k + lanes) of one row, of which `count` exist, followed by zeros.
HWY_INLINE Vec along_row(const float* row, int64_t k, int64_t count) {
  return count >= lanes() ? load(row + k) : load_part(row + k, count);
}
HWY_INLINE Vec along_row(const bf16* row, int64_t k, int64_t count) {
  return count >= lanes() ? load(row + k) : load_part(row + k, count);
}

// Neighbouring bf16 of one row, unchanged: a pair per 4 bytes; `count` counts bf16.
HWY_INLINE Vec pairs_along_row(const bf16* row, int64_t k, int64_t count) {
  const hn::Repartition<uint16_t, Floats> d;
  const auto both = count >= 2 * lanes() ? hn::LoadU(d, halves(row + k)) : load_first(d, halves(row + k), count);
  return hn::BitCast(Floats(), both);
}

// ---- plain operands: steps are rows of the matrix ----

// A row of the matrix is read once from end to end, whatever the strips: rows may be a page apart.
template <class Read>
HWY_INLINE void write_strips(const ColumnBlock& block, int64_t matrix_columns, float* to, Read read) {
  const int64_t strips = ceil_div(block.columns, block.strip);
  for (int64_t step = 0; step < block.steps; ++step) {
    for (int64_t s = 0; s < strips; ++s) {
      float* const out = to + s * block.distance + step * block.stride;
      const int64_t column = block.first_column + s * block.strip;
      for (int64_t c = 0; c < block.strip; c += lanes()) {
        const int64_t count = matrix_columns - column - c;
        store(count > 0 ? read(block.first_step + step, column + c, count) : hn::Zero(Floats()), out + c);
      }
    }
  }
}

// The columns as 4-byte elements; a step is one row of the matrix, or two.
void write_strips_of(const ConstView& matrix, Element element, const ColumnBlock& block, float* to) {
  const auto write_rows = [&]<class T>(const HostView<const T>& from) {
    write_strips(block, from.columns, to, [&](int64_t k, int64_t column, int64_t count) HWY_ATTR {
      return along_row(from.row(k) + column, 0, count);
    });
  };
  if (element == Element::pair) {
    write_bf16_pair_strips(host<bf16>(matrix), block, to);
  } else if (matrix.type() == DType::bf16) {
    write_rows(host<bf16>(matrix));
  } else {
    write_rows(host<float>(matrix));
  }
}

// ---- transposed operands: steps run along the rows of the matrix ----

// From four vectors, each with the steps of one row, writes for each step the values of the four rows to to[step *
// width].
HWY_INLINE void store_four_rows(Vec r0, Vec r1, Vec r2, Vec r3, int64_t steps, int64_t width, float* to) {
  const Floats d;
  const hn::Repartition<double, Floats> wide;
  const auto low01 = hn::BitCast(wide, hn::InterleaveLower(d, r0, r1));
  const auto low23 = hn::BitCast(wide, hn::InterleaveLower(d, r2, r3));
  const auto high01 = hn::BitCast(wide, hn::InterleaveUpper(d, r0, r1));
  const auto high23 = hn::BitCast(wide, hn::InterleaveUpper(d, r2, r3));
  // Block b of vector j now holds the four rows at step 4 b + j.
  alignas(64) float quads[4][hn::MaxLanes(Floats())];
  store(hn::BitCast(d, hn::InterleaveLower(wide, low01, low23)), quads[0]);
  store(hn::BitCast(d, hn::InterleaveUpper(wide, low01, low23)), quads[1]);
  store(hn::BitCast(d, hn::InterleaveLower(wide, high01, high23)), quads[2]);
  store(hn::BitCast(d, hn::InterleaveUpper(wide, high01, high23)), quads[3]);
  const hn::Full128<float> quad;
  for (int64_t step = 0; step < steps; ++step) {
    hn::StoreU(hn::Load(quad, quads[step % 4] + step / 4 * 4), quad, to + step * width);
  }
}

// to[step][0, width) from `columns` rows of the matrix; read(row, step) gives a vector of steps, zeros past the end.
template <class Read>
HWY_INLINE void transpose_rows(int64_t columns, int64_t steps, int64_t width, float* to, Read read) {
  for (int64_t column = 0; column < width; column += 4) {
    for (int64_t step = 0; step < steps; step += lanes()) {
      const auto row = [&](int64_t r) { return column + r < columns ? read(column + r, step) : hn::Zero(Floats()); };
      store_four_rows(row(0), row(1), row(2), row(3), std::min(lanes(), steps - step), width,
                      to + step * width + column);
    }
  }
}

// ---- packing ----

void transpose_panel(const Operand& b, Element element, int64_t first_column, int64_t columns, int64_t first,
                     int64_t steps, float* to) {
  if (element == Element::pair) {
    const HostView<const bf16> from = host<bf16>(b.matrix);
    const int64_t depth = std::min(2 * steps, from.columns - 2 * first);
    transpose_rows(columns, steps, kHalfPanelRows, to, [&](int64_t row, int64_t step) {
      return pairs_along_row(from.row(first_column + row) + 2 * first, 2 * step, depth - 2 * step);
    });
    return;
  }
  const auto transpose = [&]<class T>(const HostView<const T>& from) {
    transpose_rows(columns, steps, panel_width(), to, [&](int64_t row, int64_t step) {
      return along_row(from.row(first_column + row) + first, step, steps - step);
    });
  };
  b.matrix.type() == DType::bf16 ? transpose(host<bf16>(b.matrix)) : transpose(host<float>(b.matrix));
}

void pack_panels(const Operand& b, Element element, const PanelBlock& block, float* to) {
  const int64_t width = element == Element::pair ? kHalfPanelRows : panel_width();
  const int64_t first_column = block.first_panel * width;
  const int64_t columns = std::min(block.panels * width, b.columns() - first_column);
  if (b.layout == Layout::plain) {
    write_strips_of(b.matrix, element,
                    {block.first_step, block.steps, first_column, columns, width, width, block.distance}, to);
    return;
  }
  for (int64_t column = 0; column < columns; column += width) {
    transpose_panel(b, element, first_column + column, std::min(width, columns - column), block.first_step, block.steps,
                    to + column / width * block.distance);
  }
}

// A's rows as f32, with neighbouring steps next to each other.
void widen_rows(const HostView<const bf16>& from, int64_t first_row, int64_t rows, int64_t first_step, int64_t steps,
                float* to) {
  for (int64_t r = 0; r < rows; ++r) {
    const bf16* const row = from.row(first_row + r) + first_step;
    float* const out = to + r * steps;
    for_columns(
        steps, [&](int64_t k) { store(load(row + k), out + k); },
        [&](int64_t k, int64_t count) { store_part(load_part(row + k, count), out + k, count); });
  }
}

// A's rows as pairs, the last one padded with a zero when the depth is odd.
void copy_pairs(const HostView<const bf16>& from, int64_t first_row, int64_t rows, int64_t first_step, int64_t steps,
                float* to) {
  const int64_t depth = std::min(2 * steps, from.columns - 2 * first_step);
  for (int64_t r = 0; r < rows; ++r) {
    const bf16* const row = from.row(first_row + r) + 2 * first_step;
    for (int64_t step = 0; step < steps; step += lanes()) {
      store_part(pairs_along_row(row, 2 * step, depth - 2 * step), to + r * steps + step,
                 std::min(lanes(), steps - step));
    }
  }
}

LeftBlock pack_left(const Operand& a, Element element, int64_t first_row, int64_t rows, int64_t first_step,
                    int64_t steps, float* scratch) {
  if (a.layout == Layout::transposed) {
    const int64_t stride = left_stride(rows), strip = round_up(rows, panel_width());
    write_strips_of(a.matrix, element, {first_step, steps, first_row, rows, strip, stride, 0}, scratch);
    return {scratch, 1, stride};
  }
  if (a.matrix.type() == DType::f32) {
    const HostView<const float> from = host<float>(a.matrix);
    return {from.row(first_row) + first_step, from.stride, 1};
  }
  const HostView<const bf16> from = host<bf16>(a.matrix);
  if (element != Element::pair) {
    widen_rows(from, first_row, rows, first_step, steps, scratch);
    return {scratch, steps, 1};
  }
  const bool readable_in_place = 2 * (first_step + steps) <= from.columns && from.stride % 2 == 0 &&
                                 reinterpret_cast<uintptr_t>(from.data) % sizeof(float) == 0;
  if (readable_in_place) {
    return {reinterpret_cast<const float*>(from.row(first_row)) + first_step, from.stride / 2, 1};
  }
  copy_pairs(from, first_row, rows, first_step, steps, scratch);
  return {scratch, steps, 1};
}

// to += from
void add_up(const float* from, int64_t count, float* to) {
  each_vector(count, [&](int64_t c, int64_t left) HWY_ATTR {
    store_upto(hn::Add(load_upto(to + c, left), load_upto(from + c, left)), to + c, left);
  });
}

// The upper halves of both vectors of a step, packed into one vector.
void halve(const float* from, int64_t steps, float* to) {
  const Floats d;
  const int64_t n = lanes();
  for (int64_t step = 0; step < steps; ++step, from += 2 * n, to += n) {
    const WordVec first = hn::BitCast(Words(), load(from)), second = hn::BitCast(Words(), load(from + n));
    const WordVec both = hn::Or(hn::ShiftRight<16>(first), hn::And(second, hn::Set(Words(), 0xffff0000U)));
    store(hn::BitCast(d, both), to);
  }
}

}  // namespace

const ProductKernels* make_product_kernels() {
  static const ProductKernels kernels{
      kRows,     panel_width(), kDepthBlocks, multiply<Element::single>, multiply<Element::half>, pack_panels,
      pack_left, add_up,        halve};
  return &kernels;
}

}  // namespace heed::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::cpu {

HWY_EXPORT(make_product_kernels);

const ProductKernels& product_kernels() { return *HWY_DYNAMIC_DISPATCH(make_product_kernels)(); }

}  // namespace heed::cpu
#endif
