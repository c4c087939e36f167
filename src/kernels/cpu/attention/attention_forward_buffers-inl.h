// A worker's memory in attention's forward pass.

#if defined(HEED_KERNELS_CPU_ATTENTION_FORWARD_BUFFERS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_KERNELS_CPU_ATTENTION_FORWARD_BUFFERS_INL_H_
#undef HEED_KERNELS_CPU_ATTENTION_FORWARD_BUFFERS_INL_H_
#else
#define HEED_KERNELS_CPU_ATTENTION_FORWARD_BUFFERS_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "base/rounding.h"
#include "kernels/cpu/attention/attention_plan.h"
#include "kernels/cpu/attention/attention_share-inl.h"
#include "kernels/cpu/machine/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu::HWY_NAMESPACE {

// What one key-value head's rows keep from block to block.
struct HeadState {
  HeadState(Carver& from, int64_t rows, HeadWidths widths) : max_rows(rows) {
    const int64_t padded = round_up(rows, kLanes);
    random = from.take<RowRandom>(rows);
    queries = from.take<float>(panels_for(widths.of_keys) * rows * kPanel);
    output = from.take<float>(panels_for(widths.of_values) * rows * kPanel);
    maxima = from.take<float>(padded);
    sums = from.take<float>(padded * kLanes);
    const int64_t group = std::min(padded, kRowGroup);
    scores = from.take<float>(group * kKeyBlock);
    decay = from.take<float>(group);
  }

  int64_t max_rows;
  RowRandom* random;
  float *queries, *output;  // panels of the rows
  float* maxima;            // m of each row
  float* sums;              // l of each row, lane by lane
  // For one group of rows and one block:
  float* scores;  // then probabilities
  float* decay;   // 2^(m - m')
};

// A worker's memory for one share.
struct ForwardBuffers {
  ForwardBuffers(Carver& from, int64_t max_queries, const AttentionSettings& settings, HeadWidths widths)
      : query_range(from, max_queries, settings.heads / settings.key_value_heads),
        many(from, max_queries * settings.heads / settings.key_value_heads, widths) {
    few = from.take<HeadState>(settings.key_value_heads);
    for (int64_t h = 0; h < settings.key_value_heads; ++h) {
      const HeadState state(from, kFewRows, widths);
      if (few != nullptr) {
        few[h] = state;
      }
    }
    const int64_t padded = round_up(many.max_rows, kLanes);
    key_rows = from.take<int64_t>(kKeyBlock);
    next_key_rows = from.take<int64_t>(kKeyBlock);
    keys = from.take<float>(panels_for(widths.of_keys) * kPanel * kKeyBlock);
    values = from.take<float>(panels_for(widths.of_values) * kKeyBlock * kPanel);
    key_scales = from.take<float>(kKeyBlock);
    value_scales = from.take<float>(kKeyBlock);
    lane_maxima = from.take<float>(kRowGroup * kLanes);
    totals = from.take<float>(padded);
    inverses = from.take<float>(padded);
  }

  QueryRows query_range;
  HeadState many;                    // of a range of queries of many rows
  HeadState* few;                    // of each key-value head of a range of queries of few rows
  int64_t* key_rows;                 // the rows of the keys of a block
  int64_t* next_key_rows;            // the same of the block that is prefetched
  float *keys, *values;              // of one block: keys as columns, values as rows
  float *key_scales, *value_scales;  // of one block, if in int8; zeros after its last key
  float* lane_maxima;                // of a group's scores, lane by lane
  float *totals, *inverses;          // l of each row of a head, and 1 / l; 0 where nothing is seen
};

}  // namespace heed::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HEED_KERNELS_CPU_ATTENTION_FORWARD_BUFFERS_INL_H_
