// What attention's kernels know of a pair of a query and a key: where both are, whether they see each other, the score.
//
// A query's keys are counted within its class of the visibility's stride: key `residue + t * stride` is number t. All
// sums over keys go through blocks that begin at multiples of kKeyBlock in this count, so that a query's result depends
// neither on what else is in the batch nor on how many keys come after those that it sees.
#pragma once

#include "heed_cuda/context.h"
#include "heed_cuda/device/language.h"
#include "kernels/calls/attention.h"

namespace heed::cuda {

constexpr int kKeyBlock = 64;        // two keys a lane
constexpr int kKeySplit = 256;       // keys that are summed on their own; splits are added in order
constexpr int kMostHeadWidth = 256;  // eight columns a lane

// Where the tokens of sequences are, in memory or in a cache.
struct TokenRows {
  const int64_t* offsets = nullptr;
  Matrix<const int32_t> pages = {};
  int64_t page_tokens = 1;

  __device__ int64_t row(int64_t sequence, int64_t token) const {
    if (pages.empty()) {
      return offsets[sequence] + token;
    }
    const auto number = static_cast<uint32_t>(token), size = static_cast<uint32_t>(page_tokens);  // for quick divisions
    return pages(sequence, number / size) * page_tokens + number % size;
  }
};

// Keys or values. Scales only in int8.
template <class M>
struct CachedRows {
  Matrix<const M> rows;
  Matrix<const float> scales = {};
};

// An AttentionMask on the device.
struct MaskWords {
  const uint64_t* words = nullptr;
  const int64_t* first_words = nullptr;  // of each sequence
};

// The settings of a call, and what follows from the shapes.
struct AttentionFrame {
  DeviceSegments queries, keys;
  int heads = 1, group = 1;  // group: heads that share keys and values
  int key_width = 1, value_width = 1;
  Visibility visibility;
  MaskWords mask;
  float scale = 1.0F, cap = 0.0F;
  Matrix<const float> table = {};
  TableOf table_of = TableOf::head;
  int64_t distances = 0, first_distance = 0;
  float factor = 1.0F;
  Dropout dropout;
  float kept_scale = 1.0F;  // dropout.scale()
  uint64_t drawn_heads = 1, first_drawn_head = 0;
};

// A query, or a key, of a sequence.
struct TokenPlace {
  int64_t sequence, row, index;
  int64_t queries, keys;  // of the sequence

  __device__ int64_t offset() const { return keys - queries; }      // the first query's position
  __device__ int64_t position() const { return offset() + index; }  // of a query
};

// The sequence that has the row: the last that begins at it or before it.
__device__ inline int64_t sequence_of(const int64_t* offsets, int64_t count, int64_t row) {
  int64_t low = 0, high = count;  // offsets[low] <= row < offsets[high]
  while (high - low > 1) {
    const int64_t middle = (low + high) / 2;
    (offsets[middle] <= row ? low : high) = middle;
  }
  return low;
}

__device__ inline TokenPlace place_of(const AttentionFrame& frame, const DeviceSegments& segments, int64_t row) {
  const int64_t s = sequence_of(segments.offsets, segments.count, row);
  return {s, row, row - segments.offsets[s], frame.queries.offsets[s + 1] - frame.queries.offsets[s],
          frame.keys.offsets[s + 1] - frame.keys.offsets[s]};
}

__device__ inline int64_t steps_up(int64_t distance, int64_t stride) {  // ceil(distance / stride), 0 below
  return distance <= 0 ? 0 : (distance + stride - 1) / stride;
}

// The keys [begin, end) of its class that a query sees, but for a mask.
struct SeenKeys {
  int64_t residue, stride, begin, end;
  __device__ int64_t key(int64_t number) const { return residue + number * stride; }
};

__device__ inline SeenKeys keys_seen(const Visibility& visibility, int64_t position, int64_t keys) {
  const int64_t stride = visibility.stride, window = visibility.window;
  const int64_t residue = (position % stride + stride) % stride;
  int64_t end = visibility.reach == Visibility::Reach::causal ? min(keys, position + 1) : keys;
  end = window > 0 ? min(end, position + window) : end;
  const int64_t begin = window > 0 ? position - window + 1 : 0;
  return {residue, stride, steps_up(begin - residue, stride), steps_up(end - residue, stride)};
}

// The positions first, first + stride ... of the queries that see a key, but for a mask.
struct SeeingQueries {
  int64_t first, stride, count;
};

__device__ inline SeeingQueries queries_seeing(const Visibility& visibility, const TokenPlace& key) {
  const int64_t stride = visibility.stride, window = visibility.window;
  int64_t begin = visibility.reach == Visibility::Reach::causal ? max(key.offset(), key.index) : key.offset();
  begin = window > 0 ? max(begin, key.index - window + 1) : begin;
  const int64_t end = window > 0 ? min(key.keys, key.index + window) : key.keys;  // the last query is at the last key
  const int64_t first = begin + ((key.index - begin) % stride + stride) % stride;
  return {first, stride, steps_up(end - first, stride)};
}

// Whether the mask, if there is one, shows query `index` of the sequence this key.
__device__ inline bool mask_shows(const MaskWords& mask, const TokenPlace& of_sequence, int64_t index, int64_t key) {
  if (mask.words == nullptr) {
    return true;
  }
  const int64_t words_per_row = (of_sequence.keys + 63) / 64;
  return (mask.words[mask.first_words[of_sequence.sequence] + index * words_per_row + (key >> 6)] >> (key & 63)) & 1U;
}

// The column of tables by distance.
__device__ inline int64_t distance_column(const AttentionFrame& frame, int64_t distance) {
  return max(int64_t{0}, min(distance - frame.first_distance, frame.distances - 1));
}

// A row of a table by distance, which a warp fills with `factor` times what the keys of a query give. Between its ends
// a column has one key at most; the ends have all that lie beyond, too.
struct DistanceRow {
  float* row;  // nullptr where none is asked for
  float factor = 1.0F;
  float below = 0.0F, above = 0.0F;  // this lane's part of the ends

  __device__ void clear(const AttentionFrame& frame, int lane) const {
    for (int64_t column = lane; row != nullptr && column < frame.distances; column += kWarp) {
      row[column] = 0.0F;
    }
  }
  __device__ void add(const AttentionFrame& frame, int64_t distance, float value) {
    if (row == nullptr) {
      return;
    }
    const int64_t column = distance_column(frame, distance);
    if (column == 0) {
      below += value;
    } else if (column == frame.distances - 1) {
      above += value;
    } else {
      row[column] = factor * value;
    }
  }
  __device__ void write_ends(const AttentionFrame& frame, int lane) {
    if (row == nullptr) {
      return;
    }
    below = warp_sum(below);
    above = warp_sum(above);
    if (lane == 0) {
      row[0] = factor * below;
      if (frame.distances > 1) {
        row[frame.distances - 1] = factor * above;
      }
    }
  }
};

// a * b, which no compiler makes a part of another operation: kernels that compute the same give the same bits.
__device__ inline float times(float a, float b) {
#ifdef __CUDA_ARCH__
  return __fmul_rn(a, b);
#else
  return a * b;
#endif
}

// What the dot product of a query and a key becomes.
__device__ inline float score_of(const AttentionFrame& frame, float dot, int64_t query_row, int head,
                                 int64_t distance) {
  float score = times(dot, frame.scale);
  if (frame.cap > 0.0F) {
    score = times(frame.cap, tanhf(score / frame.cap));
  }
  if (!frame.table.empty()) {
    const int64_t column = distance_column(frame, distance);
    score = fmaf(frame.factor,
                 frame.table_of == TableOf::head ? frame.table(head, column)
                                                 : frame.table(query_row, head * frame.distances + column),
                 score);
  }
  return score != score ? INFINITY : score;  // a maximum would forget NaN; of infinity, softmax makes one again
}

// The draws of a head's query row.
__device__ inline RowRandom draws_of(const AttentionFrame& frame, int64_t query_row, int head) {
  return RowRandom(frame.dropout.key, (frame.dropout.first_row + static_cast<uint64_t>(query_row)) * frame.drawn_heads +
                                          frame.first_drawn_head + static_cast<uint64_t>(head));
}
__device__ inline float kept(const AttentionFrame& frame, const RowRandom& draws, int64_t number) {
  const Dropout& dropout = frame.dropout;
  return dropout.active() && draws.draw16(dropout.first_column + static_cast<uint32_t>(number)) < dropout.threshold
             ? 0.0F
             : frame.kept_scale;
}

// Sixteen bytes of a row at a time.
template <class M>
struct alignas(16) RowPack {
  static constexpr int kCount = 16 / static_cast<int>(sizeof(M));
  M values[kCount];
};

// x . row, in four sums: element c belongs to sum c % 4, in whatever portions the row is read.
template <class M>
__device__ inline float dot_with(const float* x, const M* row, int width) {
  constexpr int kCount = RowPack<M>::kCount;
  float sums[4] = {0.0F, 0.0F, 0.0F, 0.0F};
  int c = 0;
  if (reinterpret_cast<uintptr_t>(row) % 16 == 0) {
    for (; c + kCount <= width; c += kCount) {
      const RowPack<M> pack = *reinterpret_cast<const RowPack<M>*>(row + c);
      HEED_UNROLL
      for (int i = 0; i < kCount; ++i) {
        sums[i % 4] = fmaf(x[c + i], to_float(pack.values[i]), sums[i % 4]);
      }
    }
  }
  for (; c + 4 <= width; c += 4) {
    HEED_UNROLL
    for (int i = 0; i < 4; ++i) {
      sums[i] = fmaf(x[c + i], to_float(row[c + i]), sums[i]);
    }
  }
  HEED_UNROLL
  for (int i = 0; i < 3; ++i) {
    if (c + i < width) {
      sums[i] = fmaf(x[c + i], to_float(row[c + i]), sums[i]);
    }
  }
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// A row, by a warp, into its shared memory.
template <class T>
__device__ inline void load_row(const T* row, int width, int lane, float* to) {
  for (int c = lane; c < width; c += kWarp) {
    to[c] = to_float(row[c]);
  }
}

// A warp's columns of a row: lane, lane + 32 ...
template <int N, class M>
__device__ inline void add_row(float weight, const M* row, int width, int lane, float (&sums)[N]) {
  HEED_UNROLL
  for (int n = 0; n < N; ++n) {
    const int c = lane + n * kWarp;
    if (c < width) {
      sums[n] = fmaf(weight, to_float(row[c]), sums[n]);
    }
  }
}
// The sum of weight_of(i) * row_of(i), for i from 0 to `count`, a multiple of kRowsAtOnce, in that order. A row whose
// weight is zero is not read. Several rows are read at once, for none of them depends on another.
constexpr int kRowsAtOnce = 8;
template <int N, class WeightOf, class RowOf>
__device__ inline void add_rows(int count, const WeightOf& weight_of, const RowOf& row_of, int width, int lane,
                                float (&sums)[N]) {
  for (int first = 0; first < count; first += kRowsAtOnce) {
    float weights[kRowsAtOnce], values[kRowsAtOnce][N];
    HEED_UNROLL
    for (int i = 0; i < kRowsAtOnce; ++i) {
      weights[i] = weight_of(first + i);
      const bool counts = weights[i] != 0.0F;
      const auto* const row = counts ? row_of(first + i) : nullptr;
      HEED_UNROLL
      for (int n = 0; n < N; ++n) {
        const int c = lane + n * kWarp;
        values[i][n] = counts && c < width ? to_float(row[c]) : 0.0F;
      }
    }
    HEED_UNROLL
    for (int i = 0; i < kRowsAtOnce; ++i) {
      HEED_UNROLL
      for (int n = 0; n < N; ++n) {
        sums[n] = fmaf(weights[i], values[i][n], sums[n]);
      }
    }
  }
}
template <int N, class T>
__device__ inline void write_row(const float (&sums)[N], float factor, int width, int lane, T* row) {
  HEED_UNROLL
  for (int n = 0; n < N; ++n) {
    const int c = lane + n * kWarp;
    if (c < width) {
      row[c] = from_float<T>(sums[n] * factor);
    }
  }
}

// Calls body with the columns a lane has of rows as wide as that: 1, 2, 4 or 8.
template <class Body>
void for_columns(int64_t width, Body&& body) {
  ensure(width <= kMostHeadWidth, "cuda", "attention with heads of {} columns", width);
  if (width <= kWarp) {
    body(std::integral_constant<int, 1>{});
  } else if (width <= 2 * kWarp) {
    body(std::integral_constant<int, 2>{});
  } else if (width <= 4 * kWarp) {
    body(std::integral_constant<int, 4>{});
  } else {
    body(std::integral_constant<int, 8>{});
  }
}

}  // namespace heed::cuda
