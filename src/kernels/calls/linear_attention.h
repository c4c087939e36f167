// The calls of linear attention.
#pragma once

#include "kernels/calls/key_values.h"
#include "kernels/visibility.h"

namespace heed {

// Linear attention sums the tokens of a sequence in chunks that begin at multiples of this, whatever the batch.
constexpr int64_t kLinearChunk = 64;

// phi of linear attention, element by element: elu(x) + 1, which is x + 1 above zero and e^x below, or e^x. The first
// is at least kLeastElu, where it would round to nothing, so that the divisor is above zero for every input; the second
// limits its exponent on both sides, so that sums of products stay finite too.
enum class LinearFeature : uint8_t { elu, exp };
constexpr double kLeastElu = 0x1p-24;  // below x = -16.6; half of f32's rounding step at 1
constexpr double kMostExponent = 16.0;

// Linear attention's settings. Heads of queries share the key-value heads evenly, in order.
struct LinearAttentionSettings {
  int64_t heads = 1, key_value_heads = 1;
  Visibility::Reach reach = Visibility::Reach::full;
  LinearFeature feature = LinearFeature::elu;
};

// For each sequence and head, with sums over the keys that the query sees:
//   output = sum of (phi(q) . phi(k)) v / divisor    divisor = sum of phi(q) . phi(k)
// Queries are aligned with the end of the keys. `divisors`, when requested: master type [rows, heads]. `weights`, when
// requested (not with states): (phi(q) . phi(k)) / divisor, master type, in the order of AttentionForward's.
struct LinearAttentionForward {
  LinearAttentionSettings settings;
  ConstView queries;
  const Segments* segments = nullptr;  // of the queries
  ConstKeyValueView memory;
  View output, divisors, weights;
};

// With g = d_output / divisor, h = -(d_output . output) / divisor, and sums over the pairs that see each other:
//   d_phi(q) = sum over keys of (g . v + h) phi(k)        d_values = sum over queries of (phi(q) . phi(k)) g
//   d_phi(k) = sum over queries of (g . v + h) phi(q)     d_x = d_phi(x) * phi'(x), which is 0 at the least feature
// Queries and keys are the same tokens, end to end (no pages, no states). All gradients are overwritten.
struct LinearAttentionBackward {
  LinearAttentionSettings settings;
  ConstView queries;
  const Segments* segments = nullptr;
  ConstKeyValueView memory;
  ConstView output, divisors, d_output;
  View d_queries, d_keys, d_values;
};

// Adds all whole chunks of the cached tokens that the states lack to their sums. Each sequence has a slot of its own.
struct LinearAttentionFold {
  int64_t key_value_heads = 1;
  LinearFeature feature = LinearFeature::elu;
  KeyValueView memory;
};

}  // namespace heed
