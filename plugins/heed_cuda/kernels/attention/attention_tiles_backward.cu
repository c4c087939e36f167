// Probabilities are computed twice: once by blocks of keys, which sum d_keys and d_values over queries, and once by
// blocks of queries, which sum d_queries over keys. So no sum is shared by blocks.
#include "heed_cuda/device/launch.h"
#include "heed_cuda/kernels/attention/attention_tiles.cuh"

namespace heed::cuda {
namespace {

// Rows of a tile of the other side; fewer where heads are wide, for the sake of registers.
template <int kWidth>
constexpr int kOtherRows = kWidth <= 64 ? 64 : 32;
constexpr int kKeyWarps = 4;

struct TileGradients {
  Matrix<const bf16> queries, keys, values, d_output;
  Matrix<const float> log_sum_exp, deltas;
  Pieces pieces;
  int64_t tiles = 1;  // of the longest sequence
};

// What the gradient of a pair needs of its query.
struct alignas(16) QueryFacts {
  float log_sum_exp = 0.0F, delta = 0.0F;  // the former in units of log 2
  KeyInterval seen;
};

__device__ QueryFacts facts_of(const AttentionFrame& frame, const TileGradients& from, const QueryRows& queries,
                               int r) {
  if (r >= queries.rows) {
    return {};
  }
  const int64_t row = queries.matrix_row(r), head = queries.head(r);
  return {from.log_sum_exp(row, head) * kLog2E, from.deltas(row, head),
          interval_of(frame.visibility, queries.position(r), queries.keys)};
}

// Scores and d_probabilities of a pair become weights, dropout(P), and d_scores.
__device__ void gradients_of(const AttentionFrame& frame, const QueryFacts& query, int key, float factor, float& score,
                             float& d_probability) {
  const float probability = query.seen.has(key) ? exp2f(fmaf(score, frame.scale * kLog2E, -query.log_sum_exp)) : 0.0F;
  score = probability * factor;
  d_probability = probability * fmaf(factor, d_probability, -query.delta);
}

// The rows of queries that see one of the keys [first, last].
__device__ NeededTiles rows_seeing(const Visibility& visibility, const QueryRows& queries, int64_t first,
                                   int64_t last) {
  int64_t begin = visibility.reach == Visibility::Reach::causal ? first : queries.offset, end = queries.keys;
  if (visibility.window > 0) {
    begin = max(begin, first - visibility.window + 1);
    end = min(end, last + visibility.window);
  }
  const int64_t row = max(int64_t{0}, begin - queries.offset) * queries.group;
  return {static_cast<int>(row), static_cast<int>(max(row, (end - queries.offset) * queries.group))};
}

// A block for 64 keys of a sequence, and their head.
template <int kWidth>
__global__ void __launch_bounds__(kKeyWarps* kWarp)
    key_gradient_tiles_kernel(AttentionFrame frame, TileGradients from, Matrix<bf16> d_keys, Matrix<bf16> d_values) {
  constexpr int kRows = kOtherRows<kWidth>, kThreadsOfBlock = kKeyWarps * kWarp;
  using Tile = SharedTile<kWidth, kRows>;
  HEED_SHARED(shared);
  auto* const facts = reinterpret_cast<QueryFacts*>(shared + 4 * Tile::kBytes);  // [2, kRows]
  auto* const draws = reinterpret_cast<RowRandom*>(facts + 2 * kRows);           // the same
  const int lane = static_cast<int>(threadIdx.x % kWarp), key_head = static_cast<int>(blockIdx.y);
  const int64_t sequence = blockIdx.x / from.tiles;
  const QueryRows queries(frame, sequence, key_head);
  const int block_key = static_cast<int>(blockIdx.x % from.tiles) * kKeyWarps * kRowsOfWarp;
  if (block_key >= queries.keys) {
    return;
  }
  const int64_t last_key = min(int64_t{block_key} + kKeyWarps * kRowsOfWarp, queries.keys) - 1;
  const NeededTiles seeing = rows_seeing(frame.visibility, queries, block_key, last_key);
  const auto load = [&](int first, int stage) {
    if (first < seeing.end) {
      unsigned char* const to = shared + stage * 2 * Tile::kBytes;
      Tile::template load<kThreadsOfBlock>([&](int r) { return queries.columns(from.queries, first + r, kWidth); },
                                           from.pieces, to);
      Tile::template load<kThreadsOfBlock>([&](int r) { return queries.columns(from.d_output, first + r, kWidth); },
                                           from.pieces, to + Tile::kBytes);
      for (int r = static_cast<int>(threadIdx.x); r < kRows; r += kThreadsOfBlock) {
        facts[stage * kRows + r] = facts_of(frame, from, queries, first + r);
        if (frame.dropout.active() && first + r < queries.rows) {
          draws[stage * kRows + r] = draws_of(frame, queries.matrix_row(first + r), queries.head(first + r));
        }
      }
    }
    end_group();
  };

  const int key = block_key + static_cast<int>(threadIdx.x) / kWarp * kRowsOfWarp + lane / 4;
  const auto row_of = [&]<class T>(const Matrix<T>& of, int of_key) -> T* {
    return of_key < queries.keys ? of.row(frame.keys.offsets[sequence] + of_key) + int64_t{key_head} * kWidth : nullptr;
  };
  LeftRows<kWidth> keys, values;
  keys.load(row_of(from.keys, key), row_of(from.keys, key + 8), from.pieces, lane);
  values.load(row_of(from.values, key), row_of(from.values, key + 8), from.pieces, lane);
  const int warp_key = key - lane / 4;
  const NeededTiles needed_rows =
      rows_seeing(frame.visibility, queries, warp_key, min(int64_t{warp_key} + kRowsOfWarp, queries.keys) - 1);
  const NeededTiles needed{needed_rows.begin, warp_key < queries.keys ? needed_rows.end : 0};
  WarpSums<kWidth / 8> key_sums, value_sums;
  key_sums.clear();
  value_sums.clear();
  for_each_tile<kRows>(seeing.begin, seeing.end, load, [&](int first, int stage) {
    if (needed.has(first, kRows)) {
      const unsigned char* const tile = shared + stage * 2 * Tile::kBytes;
      WarpSums<kRows / 8> weights, d_scores;
      multiply_rows<kWidth, kRows>(keys, tile, lane, weights);
      multiply_rows<kWidth, kRows>(values, tile + Tile::kBytes, lane, d_scores);
      HEED_UNROLL
      for (int n = 0; n < kRows / 8; ++n) {
        HEED_UNROLL
        for (int i = 0; i < 4; ++i) {
          const int of_tile = stage * kRows + 8 * n + 2 * (lane % 4) + i % 2, of_key = key + i / 2 * 8;
          const float factor = frame.dropout.active() ? kept(frame, draws[of_tile], of_key) : 1.0F;
          gradients_of(frame, facts[of_tile], of_key, factor, weights.c[n][i], d_scores.c[n][i]);
        }
      }
      add_weighted<kWidth, kRows>(weights, tile + Tile::kBytes, lane, value_sums);
      add_weighted<kWidth, kRows>(d_scores, tile, lane, key_sums);
    }
  });
  write_sums(key_sums, {frame.scale, frame.scale}, from.pieces, row_of(d_keys, key), row_of(d_keys, key + 8));
  write_sums(value_sums, {1.0F, 1.0F}, from.pieces, row_of(d_values, key), row_of(d_values, key + 8));
}

// A block for a tile of queries, of a sequence and a head of keys.
template <int kWidth, int kWarps>
__global__ void __launch_bounds__(kWarps* kWarp)
    query_gradient_tiles_kernel(AttentionFrame frame, TileGradients from, Matrix<bf16> d_queries) {
  constexpr int kKeys = kOtherRows<kWidth>, kThreadsOfBlock = kWarps * kWarp;
  using Tile = SharedTile<kWidth, kKeys>;
  HEED_SHARED(shared);
  const int lane = static_cast<int>(threadIdx.x % kWarp), key_head = static_cast<int>(blockIdx.y);
  const int64_t sequence = blockIdx.x / from.tiles;
  const QueryRows queries(frame, sequence, key_head);
  const int block_row = static_cast<int>(from.tiles - 1 - blockIdx.x % from.tiles) * kWarps * kRowsOfWarp;
  if (block_row >= queries.rows) {
    return;
  }
  const int last_row = min(block_row + kWarps * kRowsOfWarp, queries.rows) - 1;
  const int begin = interval_of(frame.visibility, queries.position(block_row), queries.keys).begin;
  const int end = interval_of(frame.visibility, queries.position(last_row), queries.keys).end;
  const auto load = [&](int first, int stage) {
    const auto row_of = [&](const Matrix<const bf16>& rows) {
      return [&rows, &frame, &queries, sequence, key_head, first](int r) -> const bf16* {
        return first + r < queries.keys
                   ? rows.row(frame.keys.offsets[sequence] + first + r) + int64_t{key_head} * kWidth
                   : nullptr;
      };
    };
    if (first < end) {
      unsigned char* const to = shared + stage * 2 * Tile::kBytes;
      Tile::template load<kThreadsOfBlock>(row_of(from.keys), from.pieces, to);
      Tile::template load<kThreadsOfBlock>(row_of(from.values), from.pieces, to + Tile::kBytes);
    }
    end_group();
  };

  const int r = block_row + static_cast<int>(threadIdx.x) / kWarp * kRowsOfWarp + lane / 4;
  LeftRows<kWidth> rows, d_outputs;
  rows.load(queries.columns(from.queries, r, kWidth), queries.columns(from.queries, r + 8, kWidth), from.pieces, lane);
  d_outputs.load(queries.columns(from.d_output, r, kWidth), queries.columns(from.d_output, r + 8, kWidth), from.pieces,
                 lane);
  const QueryFacts facts[2] = {facts_of(frame, from, queries, r), facts_of(frame, from, queries, r + 8)};
  RowRandom draws[2];
  HEED_UNROLL
  for (int half = 0; half < 2; ++half) {
    if (r + 8 * half < queries.rows) {
      draws[half] = draws_of(frame, queries.matrix_row(r + 8 * half), queries.head(r + 8 * half));
    }
  }
  const NeededTiles needed = queries.keys_of_warp(frame.visibility, r - lane / 4);
  WarpSums<kWidth / 8> sums;
  sums.clear();
  for_each_tile<kKeys>(begin, end, load, [&](int first, int stage) {
    if (needed.has(first, kKeys)) {
      const unsigned char* const tile = shared + stage * 2 * Tile::kBytes;
      WarpSums<kKeys / 8> scores, d_scores;
      multiply_rows<kWidth, kKeys>(rows, tile, lane, scores);
      multiply_rows<kWidth, kKeys>(d_outputs, tile + Tile::kBytes, lane, d_scores);
      HEED_UNROLL
      for (int n = 0; n < kKeys / 8; ++n) {
        HEED_UNROLL
        for (int i = 0; i < 4; ++i) {
          const int key = first + 8 * n + 2 * (lane % 4) + i % 2;
          gradients_of(frame, facts[i / 2], key, kept(frame, draws[i / 2], key), scores.c[n][i], d_scores.c[n][i]);
        }
      }
      add_weighted<kWidth, kKeys>(d_scores, tile, lane, sums);
    }
  });
  write_sums(sums, {frame.scale, frame.scale}, from.pieces, queries.columns(d_queries, r, kWidth),
             queries.columns(d_queries, r + 8, kWidth));
}

template <int kWidth, int kWarps>
void run_query_gradients(Context& context, const AttentionFrame& frame, TileGradients from,
                         const Matrix<bf16>& d_queries) {
  from.tiles = ceil_div<int64_t>(frame.queries.max_length * frame.group, kWarps * kRowsOfWarp);
  const Grid grid{
      dim3(static_cast<unsigned>(frame.queries.count * from.tiles), static_cast<unsigned>(frame.heads / frame.group)),
      dim3(kWarps * kWarp), 4 * int64_t{SharedTile<kWidth, kOtherRows<kWidth>>::kBytes}};
  launch(context.queue, grid, query_gradient_tiles_kernel<kWidth, kWarps>, frame, from, d_queries);
}

template <int kWidth>
void run_key_gradients(Context& context, const AttentionFrame& frame, TileGradients from, const Matrix<bf16>& d_keys,
                       const Matrix<bf16>& d_values) {
  constexpr int kRows = kOtherRows<kWidth>;
  from.tiles = ceil_div<int64_t>(frame.keys.max_length, kKeyWarps * kRowsOfWarp);
  const Grid grid{
      dim3(static_cast<unsigned>(frame.keys.count * from.tiles), static_cast<unsigned>(frame.heads / frame.group)),
      dim3(kKeyWarps * kWarp),
      4 * int64_t{SharedTile<kWidth, kRows>::kBytes} + 2 * kRows * int64_t{sizeof(QueryFacts) + sizeof(RowRandom)}};
  launch(context.queue, grid, key_gradient_tiles_kernel<kWidth>, frame, from, d_keys, d_values);
}

}  // namespace

void attention_backward_by_tiles(Context& context, const AttentionFrame& frame, const AttentionGradients& gradients) {
  const TileGradients from{gradients.queries,
                           gradients.keys,
                           gradients.values,
                           gradients.d_output,
                           gradients.log_sum_exp,
                           gradients.deltas,
                           {in_pieces(gradients.queries, gradients.keys, gradients.values, gradients.d_output),
                            in_pieces(gradients.d_queries, gradients.d_keys, gradients.d_values)}};
  for_head_width(frame.key_width, [&](auto width) {
    const int64_t rows = frame.queries.max_length * frame.group;
    if (frame.queries.rows == 0) {
      // no gradient of queries
    } else if (rows <= kRowsOfWarp) {
      run_query_gradients<width(), 1>(context, frame, from, gradients.d_queries);
    } else if (rows <= 2 * kRowsOfWarp) {
      run_query_gradients<width(), 2>(context, frame, from, gradients.d_queries);
    } else {
      run_query_gradients<width(), 4>(context, frame, from, gradients.d_queries);
    }
    if (frame.keys.rows > 0) {
      run_key_gradients<width()>(context, frame, from, gradients.d_keys, gradients.d_values);
    }
  });
}

}  // namespace heed::cuda
