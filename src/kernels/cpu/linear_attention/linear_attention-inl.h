// What linear attention's forward and backward share: features, packed chunks, products of panels.

#if defined(HEED_KERNELS_CPU_LINEAR_ATTENTION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_CPU_LINEAR_ATTENTION_INL_H_
#undef HEED_KERNELS_CPU_LINEAR_ATTENTION_INL_H_
#else
#define HEED_KERNELS_CPU_LINEAR_ATTENTION_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "kernels/calls/linear_attention.h"
#include "kernels/cpu/attention/attention_pack-inl.h"
#include "kernels/cpu/attention/attention_plan.h"
#include "kernels/cpu/attention/attention_rows-inl.h"
#include "kernels/cpu/attention/attention_tile-inl.h"
#include "kernels/cpu/attention/attention_transpose-inl.h"
#include "kernels/cpu/machine/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu::HWY_NAMESPACE {

static_assert(kLinearChunk == kKeyBlock && kLinearChunk == kPanel);
constexpr int64_t kBlockElements = kPanel * kPanel;  // of one panel with the rows of a chunk

HWY_INLINE Vec limited_exp(Vec x) {
  const Floats d;
  const Vec most = hn::Set(d, static_cast<float>(kMostExponent));
  return exp2_of(hn::Mul(at_most(most, at_least(hn::Neg(most), x)), hn::Set(d, kLog2E)));
}

// phi(x). In this order of operands NaN wins.
HWY_INLINE Vec feature_of(LinearFeature kind, Vec x) {
  const Floats d;
  if (kind == LinearFeature::exp) {
    return limited_exp(x);
  }
  const Vec zero = hn::Zero(d), least = hn::Set(d, static_cast<float>(kLeastElu));
  return hn::Add(at_least(least, exp2_of(hn::Mul(at_most(zero, x), hn::Set(d, kLog2E)))), at_least(zero, x));
}

// phi'(x) from phi(x). It is 0 at the least and the largest feature; elsewhere phi for exp, and for elu 1 above 1 and
// phi below.
HWY_INLINE Vec slope_of(LinearFeature kind, Vec feature) {
  const Floats d;
  if (kind == LinearFeature::exp) {
    const Vec most = hn::Set(d, static_cast<float>(kMostExponent));
    const auto inside = hn::And(hn::Gt(feature, limited_exp(hn::Neg(most))), hn::Lt(feature, limited_exp(most)));
    return hn::IfThenElseZero(inside, feature);
  }
  return hn::IfThenElseZero(hn::Gt(feature, hn::Set(d, static_cast<float>(kLeastElu))),
                            hn::Min(hn::Set(d, 1.0F), feature));
}

// The widths of a head's keys, and of its values with the column of ones after them.
struct LinearWidths {
  LinearWidths(int64_t key_width, int64_t value_width)
      : keys(key_width),
        values(value_width),
        extended(value_width + 1),
        key_panels(panels_for(key_width)),
        extended_panels(panels_for(extended)) {}

  int64_t keys, values, extended, key_panels, extended_panels;
};

// Panels of all rows from features of one operand to features of another: [right panels][left rows][kPanel].
HWY_INLINE int64_t state_elements(int64_t rows, int64_t columns) {
  return panels_for(rows) * panels_for(columns) * kBlockElements;
}
HWY_INLINE float* state_panel(float* state, int64_t rows, int64_t panel) {
  return state + panel * panels_for(rows) * kBlockElements;
}

// [n, 64] panels of phi(x), for queries or keys.
template <class T>
HWY_NOINLINE void pack_features(const HeadRows<T>& from, LinearFeature kind, float* panels) {
  pack_rows(from, kLinearChunk, panels, [kind](Vec x) { return feature_of(kind, x); });
}
// phi(K)^T: row c is column c of all keys of the chunk.
template <class T>
HWY_NOINLINE void pack_feature_columns(const HeadRows<T>& from, LinearFeature kind, float* columns) {
  pack_columns(from, columns);
  for (int64_t c = 0; c < from.width; ++c) {
    for (int64_t v = 0; v < vectors_for(from.rows); ++v) {
      float* const at = panel_at(columns, c, v);
      store(feature_of(kind, load(at)), at);
    }
  }
}

// Puts `value` into the column after the first `width` of a row of panels, and zeros after it.
HWY_INLINE void put_after(float* panels, int64_t row, int64_t width, float value) {
  float* const at = panels + width / kPanel * kBlockElements + row * kPanel + width % kPanel;
  if (width % kLanes == 0) {
    store(hn::Zero(Floats()), at);
  }
  *at = value;
}

// [V | 1] as rows.
template <class T>
HWY_NOINLINE void pack_values(const HeadRows<T>& from, float* panels) {
  pack_rows(from, kLinearChunk, panels);
  for (int64_t r = 0; r < from.rows; ++r) {
    put_after(panels, r, from.width, 1.0F);
  }
}

// The products are out of line: copied into each place that calls them, they would take a third of the time to compile.

// to = or += left x right over a range of steps that is the same for all rows.
template <class LeftOperand>
HWY_NOINLINE void multiply_all(int64_t rows, int64_t columns, LeftOperand left, const float* right, int64_t steps,
                               Sums to) {
  product(
      rows, vectors_for(columns), left, right,
      [steps](int64_t, int64_t) {
        return Steps{0, steps};
      },
      to);
}

// to[rows, one panel's columns] = x y, where x's columns are spread over panels of a chunk's rows, and row c of y
// belongs to column c of x.
inline HWY_NOINLINE void multiply_wide(int64_t rows, int64_t width, const float* x, const float* y, int64_t columns,
                                       float* to) {
  for (int64_t panel = 0; panel < panels_for(width); ++panel) {
    multiply_all(rows, columns, LeftRows{x + panel * kBlockElements}, y + panel * kBlockElements,
                 panel_columns(width, panel), Sums{to, panel == 0 ? Sums::Start::zero : Sums::Start::former});
  }
}

// Scores of a chunk's rows against its keys: x y for keys up to the one at the row's own position, which is
// `first + row`, and zeros after it.
inline HWY_NOINLINE void multiply_causal(int64_t rows, int64_t first, int64_t width, const float* x, const float* y,
                                         float* to) {
  constexpr int64_t kRows = 16;
  for (int64_t row = 0; row < rows; row += kRows) {
    const int64_t count = std::min(kRows, rows - row);
    multiply_wide(count, width, x + row * kPanel, y, first + row + count, to + row * kPanel);
    for (int64_t r = row; r < row + count; ++r) {
      const uint64_t seen = kAllKeys >> (kLinearChunk - 1 - (first + r));
      for (int64_t v = (first + r) / kLanes; v < kBlockVectors; ++v) {
        float* const at = panel_at(to, r, v);
        store(hn::IfThenElseZero(mask_of(seen, v), load(at)), at);
      }
    }
  }
}

// to = or += scores y, for scores by multiply_causal.
inline HWY_NOINLINE void multiply_scores(int64_t rows, int64_t first, const float* scores, const float* y,
                                         int64_t columns, Sums to) {
  product(
      rows, vectors_for(columns), LeftRows{scores}, y,
      [first](int64_t row, int64_t count) {
        return Steps{0, first + row + count};
      },
      to);
}

// One head of a sequence's keys and values, and the heads of queries that read it.
struct LinearShare {
  int64_t sequence, key_value_head;
};

// Runs body(share, worker) for all shares of a call.
template <class Body>
void for_each_share(Context& context, const Segments& tokens, int64_t key_value_heads, int64_t work_per_token,
                    const Body& body) {
  const int64_t shares = tokens.count() * key_value_heads;
  const int64_t length = tokens.count() == 0 ? 0 : tokens.rows() / tokens.count() + 1;
  const RowTasks tasks(shares, length * work_per_token, context.pool.threads());
  context.pool.run(tasks.count(), [&](int64_t task, int worker) {
    for (int64_t i = tasks.begin(task); i < tasks.end(task); ++i) {
      body(LinearShare{i / key_value_heads, i % key_value_heads}, worker);
    }
  });
}

}  // namespace heed::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HEED_KERNELS_CPU_LINEAR_ATTENTION_INL_H_
