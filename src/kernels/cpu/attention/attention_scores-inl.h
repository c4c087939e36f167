// Scores: products of queries and keys over a head's columns. With few rows of queries, as in decoding, keys are read
// where they lie, and a vector holds columns of one key. With many rows, keys are packed as columns, and a vector holds
// a column of several keys. Both add in the same order, so that a query has the same bits in any company:
//   chain[c mod kChains] += q[c] k[c], column after column of a panel; then a tree over the chains; then panel after
//   panel.
// That order suits few rows, since the chains are lanes; a single chain would need keys to be transposed.

#if defined(HEED_KERNELS_CPU_ATTENTION_SCORES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_CPU_ATTENTION_SCORES_INL_H_
#undef HEED_KERNELS_CPU_ATTENTION_SCORES_INL_H_
#else
#define HEED_KERNELS_CPU_ATTENTION_SCORES_INL_H_
#endif

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "kernels/cpu/attention/attention_pack-inl.h"
#include "kernels/cpu/attention/attention_plan.h"
#include "kernels/cpu/attention/attention_prefetch-inl.h"
#include "kernels/cpu/attention/attention_share-inl.h"
#include "kernels/cpu/attention/attention_tile-inl.h"
#include "kernels/cpu/attention/attention_transpose-inl.h"
#include "kernels/cpu/machine/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu::HWY_NAMESPACE {

// More chains would be shorter ones, and cost many rows more additions.
constexpr int64_t kChains = kLanes < 8 ? kLanes : 8;
constexpr int kLevels = kChains == 8 ? 3 : 2;  // of the tree
static_assert(kChains == 1 << kLevels);

// The tree's leaves from left to right: in each block of four lanes (0 2)(1 3), which add_chains() adds with the fewest
// shuffles.
constexpr int64_t chain_of_leaf(int64_t leaf) { return leaf % 4 == 1 ? leaf + 1 : leaf % 4 == 2 ? leaf - 1 : leaf; }
constexpr int64_t leaf_of_chain(int64_t chain) { return chain_of_leaf(chain); }  // the swap undoes itself

// The columns of a chain: zeros fill up a vector.
constexpr int64_t chain_steps(int64_t columns) { return vectors_for(columns) * kLanes / kChains; }

// ---- many rows ----

// Keys as columns: of a panel's columns those of one chain lie next to each other, and chains in the order of the
// tree's leaves.
template <class T>
void pack_chains(const HeadRows<T>& keys, float* panels) {
  pack_columns(keys, panels, [width = keys.width](int64_t c, int64_t i) {
    const int64_t panel = c / kPanel, steps = chain_steps(panel_columns(width, panel));
    return panel * kPanel + leaf_of_chain(i % kChains) * steps + (c % kPanel + i) / kChains;
  });
}

// Calls body(r, v) for all vectors of a register tile.
template <int kRows, int kVectors, class Body>
HWY_INLINE void for_each_vector(const Body& body) {
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      body(r, v);
    }
  }
}

// One chain of each score of a register tile; kSteps is 0 if the number of steps is not known when this is compiled.
template <int kRows, int kVectors, int64_t kSteps>
HWY_INLINE void sum_chain(const float* queries, const float* keys, int64_t some_steps, Vec (&sums)[kRows][kVectors]) {
  const int64_t steps = kSteps > 0 ? kSteps : some_steps;
  for_each_vector<kRows, kVectors>([&](int r, int v) HWY_ATTR { sums[r][v] = hn::Zero(Floats()); });
#pragma GCC unroll 8
  for (int64_t step = 0; step < steps; ++step, queries += kChains, keys += kPanel) {
    add_step(LeftRows{queries}, keys, sums);
  }
}

// A register tile of scores over one panel: leaf after leaf of the tree, so that at most one sum of each size waits for
// its other half.
template <int kRows, int kVectors, int64_t kSteps>
HWY_NOINLINE void score_tile(const float* HWY_RESTRICT queries, const float* HWY_RESTRICT keys, int64_t steps,
                             Sums::Start start, float* HWY_RESTRICT to) {
  const Floats d;
  HWY_ALIGN float waiting[kLevels][kRows][kVectors][kLanes];
  Vec sums[kRows][kVectors];
  for (int64_t leaf = 0; leaf < kChains; ++leaf, keys += steps * kPanel) {
    sum_chain<kRows, kVectors, kSteps>(queries + chain_of_leaf(leaf), keys, steps, sums);
    const int level = std::countr_one(static_cast<uint64_t>(leaf));
#pragma GCC unroll 4
    for (int below = 0; below < kLevels; ++below) {
      if (below < level) {
        for_each_vector<kRows, kVectors>(
            [&](int r, int v) HWY_ATTR { sums[r][v] = hn::Add(sums[r][v], hn::Load(d, waiting[below][r][v])); });
      }
    }
    if (level < kLevels) {
      for_each_vector<kRows, kVectors>([&](int r, int v) HWY_ATTR { hn::Store(sums[r][v], d, waiting[level][r][v]); });
    }
  }
  for_each_vector<kRows, kVectors>([&](int r, int v) HWY_ATTR {
    float* const out = panel_at(to, r, v);
    hn::Store(start == Sums::Start::zero ? sums[r][v] : hn::Add(hn::Load(d, out), sums[r][v]), d, out);
  });
}

// to[r][j] = q(r).k(j), from keys packed by pack_chains(), for the vectors that the tile's rows need.
inline void score_many(const ScoreTile& tile, int64_t width, int64_t panel_rows, const float* queries,
                       const float* keys, float* to) {
  for_each_run(tile, width, [&](const RunPanel& run) {
    const float* const left = queries + (run.panel * panel_rows + tile.first_row + run.first) * kPanel;
    const float* const right = keys + run.panel * kPanel * kKeyBlock;
    register_tiles(run.rows, run.vectors.begin, run.vectors.end, [&]<int kRows, int kVectors>(int64_t row, int64_t v) {
      const auto score =
          run.columns == kPanel ? score_tile<kRows, kVectors, kPanel / kChains> : score_tile<kRows, kVectors, 0>;
      score(left + row * kPanel, right + v * kLanes, chain_steps(run.columns), run.start,
            panel_at(to, run.first + row, v));
    });
  });
}

// ---- few rows ----

using Chains = hn::CappedTag<float, kChains>;
using ChainVec = hn::Vec<Chains>;

HWY_INLINE ChainVec load_chains(const float* from) { return hn::LoadU(Chains(), from); }
HWY_INLINE ChainVec load_chains(const bf16* from) {
  const hn::Rebind<uint16_t, Chains> halves;
  const hn::RebindToUnsigned<Chains> words;
  const auto x = hn::LoadU(halves, reinterpret_cast<const uint16_t*>(from));
  return hn::BitCast(Chains(), hn::ShiftLeft<16>(hn::PromoteTo(words, x)));
}
HWY_INLINE ChainVec load_chains(const int8_t* from) {
  const hn::RebindToSigned<Chains> words;
  return hn::ConvertTo(Chains(), hn::PromoteTo(words, hn::LoadU(hn::Rebind<int8_t, Chains>(), from)));
}

// The last columns of a row, and zeros.
template <class T>
HWY_INLINE ChainVec load_last_chains(const T* from, int64_t columns) {
  T last[kChains] = {};
  std::copy_n(from, columns, last);
  return load_chains(last);
}

// As many keys at once as keep the additions of eight chains in flight.
constexpr int keys_at_once(int rows) { return rows == 1 ? kChains : rows == 2 ? 4 : 2; }

// Adds to the chains of kKeys keys with each query: chains[r][j] += queries[r][c] * read(j), lane by lane.
template <int kRows, int kKeys, class Read>
HWY_INLINE void add_columns(const float* queries, int64_t c, const Read& read, ChainVec (&chains)[kRows][kKeys]) {
  ChainVec q[kRows];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
    q[r] = hn::Load(Chains(), queries + r * kPanel + c);
  }
#pragma GCC unroll 8
  for (int j = 0; j < kKeys; ++j) {
    const ChainVec k = read(j);
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      chains[r][j] = hn::MulAdd(q[r], k, chains[r][j]);
    }
  }
}

// The even or the odd ones of 2 * kChains bf16.
HWY_INLINE auto load_chain_pairs(const bf16* from) {
  const auto halves = hn::LoadU(hn::Repartition<uint16_t, Chains>(), reinterpret_cast<const uint16_t*>(from));
  return hn::BitCast(hn::RebindToUnsigned<Chains>(), halves);
}
HWY_INLINE ChainVec load_even(const bf16* from) {
  return hn::BitCast(Chains(), hn::ShiftLeft<16>(load_chain_pairs(from)));
}
HWY_INLINE ChainVec load_odd(const bf16* from) {
  const hn::RebindToUnsigned<Chains> words;
  return hn::BitCast(Chains(), hn::And(load_chain_pairs(from), hn::Set(words, 0xffff0000U)));
}

// The chains of kKeys keys over a panel's columns: kColumns, or if that is 0, `some_columns`.
template <int kRows, int kKeys, int64_t kColumns, class T>
HWY_INLINE void score_keys(const T* const* keys, const float* queries, int64_t some_columns,
                           [[maybe_unused]] ColumnOrder order, ChainVec (&chains)[kRows][kKeys]) {
  const int64_t columns = kColumns > 0 ? kColumns : some_columns;
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int j = 0; j < kKeys; ++j) {
      chains[r][j] = hn::Zero(Chains());
    }
  }
  const auto add = [&](int64_t c, const auto& read) HWY_ATTR { add_columns<kRows, kKeys>(queries, c, read, chains); };
  if constexpr (std::is_same_v<T, bf16>) {
    if (order == ColumnOrder::deinterleaved) {
#pragma GCC unroll 4
      for (int64_t c = 0; c < columns; c += 2 * kLanes) {
#pragma GCC unroll 2
        for (int64_t i = 0; i < kLanes; i += kChains) {
          add(c + i, [&](int j) HWY_ATTR { return load_even(keys[j] + c + 2 * i); });
        }
#pragma GCC unroll 2
        for (int64_t i = 0; i < kLanes; i += kChains) {
          add(c + kLanes + i, [&](int j) HWY_ATTR { return load_odd(keys[j] + c + 2 * i); });
        }
      }
      return;
    }
  }
  int64_t c = 0;
#pragma GCC unroll 8
  for (; c + kChains <= columns; c += kChains) {
    add(c, [&](int j) HWY_ATTR { return load_chains(keys[j] + c); });
  }
  if (c < columns) {
    add(c, [&](int j) HWY_ATTR { return load_last_chains(keys[j] + c, columns - c); });
  }
}

// Lane j of the result is the sum of x[j]'s chains.
template <int64_t kCount>
HWY_INLINE ChainVec add_chains(const ChainVec (&x)[kCount]) {
  const Chains d;
  const hn::RepartitionToWide<Chains> pairs;
  ChainVec sums[kCount / 4];  // by block of lanes, of four x
#pragma GCC unroll 2
  for (int64_t i = 0; i < kCount / 4; ++i) {
    const ChainVec* const four = x + 4 * i;
    const auto low =
        hn::BitCast(pairs, hn::Add(hn::InterleaveLower(d, four[0], four[1]), hn::InterleaveUpper(d, four[0], four[1])));
    const auto high =
        hn::BitCast(pairs, hn::Add(hn::InterleaveLower(d, four[2], four[3]), hn::InterleaveUpper(d, four[2], four[3])));
    sums[i] = hn::Add(hn::BitCast(d, hn::InterleaveLower(pairs, low, high)),
                      hn::BitCast(d, hn::InterleaveUpper(pairs, low, high)));
  }
  if constexpr (kCount == 8) {
    return hn::Add(hn::ConcatLowerLower(d, sums[1], sums[0]), hn::ConcatUpperUpper(d, sums[1], sums[0]));
  } else {
    static_assert(kCount == 4);
    return sums[0];
  }
}

template <int kRows, int64_t kColumns, class T>
HWY_NOINLINE void score_panel(const float* queries, const HeadRows<T>& keys, int64_t panel, float* scores,
                              RowPrefetch<T>& prefetch) {
  constexpr int kKeys = keys_at_once(kRows);
  const Chains d;
  const RowAddresses<T> addresses(keys);
  for (int64_t first = 0; first < vectors_for(keys.rows) * kLanes; first += kChains) {
    const RowBlock<T> block = addresses.block(first);
    ChainVec chains[kRows][kChains];
#pragma GCC unroll 4
    for (int64_t j = 0; j < kChains; j += kKeys) {
      prefetch.step();
      const T* some[kKeys];
      for (int i = 0; i < kKeys; ++i) {
        some[i] = block.row(j + i) + panel * kPanel;
      }
      ChainVec of_some[kRows][kKeys];
      score_keys<kRows, kKeys, kColumns>(some, queries, panel_columns(keys.width, panel), keys.order, of_some);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
        for (int i = 0; i < kKeys; ++i) {
          chains[r][j + i] = of_some[r][i];
        }
      }
    }
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      float* const out = scores + r * kKeyBlock + first;
      const ChainVec sum = add_chains(chains[r]);
      hn::Store(panel == 0 ? sum : hn::Add(hn::Load(d, out), sum), d, out);
    }
  }
}

// scores[r][j] = q(r).k(j), up to a whole vector of keys, in score_steps() steps of the prefetch.
template <int kRows, class T>
void score_few(const float* queries, int64_t panel_rows, const HeadRows<T>& keys, float* scores,
               RowPrefetch<T>& prefetch) {
  for (int64_t panel = 0; panel < panels_for(keys.width); ++panel, queries += panel_rows * kPanel) {
    if (panel_columns(keys.width, panel) == kPanel) {
      score_panel<kRows, kPanel>(queries, keys, panel, scores, prefetch);
    } else {
      score_panel<kRows, 0>(queries, keys, panel, scores, prefetch);
    }
  }
}

// The steps of the prefetch for `keys` keys.
inline int64_t score_steps(int64_t rows, int64_t keys, int64_t width) {
  return vectors_for(keys) * kLanes / keys_at_once(static_cast<int>(rows)) * panels_for(width);
}

}  // namespace heed::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HEED_KERNELS_CPU_ATTENTION_SCORES_INL_H_
