#include "heed_cuda/device/launch.h"
#include "heed_cuda/kernels/attention/attention_tiles.cuh"

namespace heed::cuda {
namespace {

constexpr int kTileKeys = kKeyBlock;  // tiles begin at multiples of that, and splits at those of kKeySplit

struct TileOperands {
  Matrix<const bf16> queries, keys, values;
  TokenRows tokens;
  Pieces pieces;
  int64_t tiles = 1, splits = 1;  // tiles of queries in the longest sequence; splits: 1 where a block takes all keys
};

// What some keys give sixteen queries: for those of rows lane / 4 and 8 further, largest = the largest scaled score in
// units of log 2, sum = this lane's part of the sum of 2^(s - largest).
template <int kWidth>
struct RowsAttended {
  float largest[2], sum[2];
  WarpSums<kWidth / 8> columns;

  __device__ void clear() {
    largest[0] = largest[1] = -INFINITY;
    sum[0] = sum[1] = 0.0F;
    columns.clear();
  }
};

// The parts of two splits are added as factors a and b of theirs.
struct SplitFactors {
  float largest, a, b;

  __device__ SplitFactors(float first, float first_sum, float second, float second_sum) {
    largest = second_sum == 0.0F ? first : fmaxf(first, second);
    a = first_sum == 0.0F ? 0.0F : exp2f(first - largest);
    b = second_sum == 0.0F ? 0.0F : exp2f(second - largest);
  }
  __device__ float add(float first, float second) const { return fmaf(first, a, second * b); }
};

// The sum over the four lanes of a row.
__device__ float row_sum(float x) {
  x += __shfl_xor_sync(kWholeWarp, x, 1);
  return x + __shfl_xor_sync(kWholeWarp, x, 2);
}
__device__ float row_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(kWholeWarp, x, 1));
  return fmaxf(x, __shfl_xor_sync(kWholeWarp, x, 2));
}

template <int kWidth>
__device__ void add_split(RowsAttended<kWidth>& split, RowsAttended<kWidth>& all) {
  HEED_UNROLL
  for (int half = 0; half < 2; ++half) {
    const float sum = row_sum(split.sum[half]);
    const SplitFactors factors(all.largest[half], all.sum[half], split.largest[half], sum);
    all.largest[half] = factors.largest;
    all.sum[half] = factors.add(all.sum[half], sum);
    HEED_UNROLL
    for (int n = 0; n < kWidth / 8; ++n) {
      all.columns.c[n][2 * half] = factors.add(all.columns.c[n][2 * half], split.columns.c[n][2 * half]);
      all.columns.c[n][2 * half + 1] = factors.add(all.columns.c[n][2 * half + 1], split.columns.c[n][2 * half + 1]);
    }
  }
  split.clear();
}

// Scores become probabilities, as far as the softmax is known; what was summed before is scaled to fit.
template <int kWidth>
__device__ void add_probabilities(WarpSums<kTileKeys / 8>& scores, float scale, RowsAttended<kWidth>& to) {
  HEED_UNROLL
  for (int half = 0; half < 2; ++half) {
    float largest = -INFINITY;
    HEED_UNROLL
    for (int n = 0; n < kTileKeys / 8; ++n) {
      largest = fmaxf(largest, fmaxf(scores.c[n][2 * half], scores.c[n][2 * half + 1]));
    }
    largest = fmaxf(to.largest[half], row_max(largest) * scale);
    const float base = largest == -INFINITY ? 0.0F : largest;
    const float correction = exp2f(to.largest[half] - base);
    float sum = 0.0F;
    HEED_UNROLL
    for (int n = 0; n < kTileKeys / 8; ++n) {
      HEED_UNROLL
      for (int i = 2 * half; i < 2 * half + 2; ++i) {
        scores.c[n][i] = exp2f(fmaf(scores.c[n][i], scale, -base));
        sum += scores.c[n][i];
      }
    }
    to.largest[half] = largest;
    to.sum[half] = fmaf(to.sum[half], correction, sum);
    HEED_UNROLL
    for (int n = 0; n < kWidth / 8; ++n) {
      to.columns.c[n][2 * half] *= correction;
      to.columns.c[n][2 * half + 1] *= correction;
    }
  }
}

// Hides the keys from `first` on that a row does not see.
__device__ void hide(WarpSums<kTileKeys / 8>& scores, const KeyInterval (&seen)[2], int first, int lane) {
  HEED_UNROLL
  for (int half = 0; half < 2; ++half) {
    if (seen[half].has_all(first, kTileKeys)) {
      continue;
    }
    HEED_UNROLL
    for (int n = 0; n < kTileKeys / 8; ++n) {
      const int key = first + 8 * n + 2 * (lane % 4);
      scores.c[n][2 * half] = seen[half].has(key) ? scores.c[n][2 * half] : -INFINITY;
      scores.c[n][2 * half + 1] = seen[half].has(key + 1) ? scores.c[n][2 * half + 1] : -INFINITY;
    }
  }
}

// Keys 2 j and 2 j + 1 share a draw.
__device__ void drop(WarpSums<kTileKeys / 8>& probabilities, const AttentionFrame& frame, const RowRandom (&draws)[2],
                     int first, int lane) {
  HEED_UNROLL
  for (int half = 0; half < 2; ++half) {
    HEED_UNROLL
    for (int n = 0; n < kTileKeys / 8; ++n) {
      const uint32_t key = static_cast<uint32_t>(first + 8 * n + 2 * (lane % 4));
      const uint32_t hash = draws[half].hash((frame.dropout.first_column + key) >> 1);
      probabilities.c[n][2 * half] *= (hash & 0xffffU) < frame.dropout.threshold ? 0.0F : frame.kept_scale;
      probabilities.c[n][2 * half + 1] *= hash >> 16 < frame.dropout.threshold ? 0.0F : frame.kept_scale;
    }
  }
}

// Where a warp's part of a split goes: a row of `parts` for each query and head, and split.
template <int kWidth>
__device__ void write_part(const RowsAttended<kWidth>& part, const AttentionFrame& frame, const QueryRows& queries,
                           int first_row, int64_t split, int64_t splits, const Matrix<float>& parts, int lane) {
  HEED_UNROLL
  for (int half = 0; half < 2; ++half) {
    const float sum = row_sum(part.sum[half]);
    const int r = first_row + lane / 4 + 8 * half;
    if (r >= queries.rows) {
      continue;
    }
    float* const to = parts.row((queries.matrix_row(r) * frame.heads + queries.head(r)) * splits + split);
    if (lane % 4 == 0) {
      to[0] = part.largest[half];
      to[1] = sum;
    }
    HEED_UNROLL
    for (int n = 0; n < kWidth / 8; ++n) {
      to[2 + 8 * n + 2 * (lane % 4)] = part.columns.c[n][2 * half];
      to[3 + 8 * n + 2 * (lane % 4)] = part.columns.c[n][2 * half + 1];
    }
  }
}

__device__ float log_sum_exp_of(float largest, float sum) {
  return sum == 0.0F ? -INFINITY : (largest + log2f(sum)) * kLn2;
}

template <int kWidth>
__device__ void write_rows(const RowsAttended<kWidth>& all, const QueryRows& queries, int first_row,
                           const Matrix<bf16>& output, const Matrix<float>& log_sum_exp, const Pieces& pieces) {
  const int lane = static_cast<int>(threadIdx.x % kWarp), r = first_row + lane / 4;
  const RowFactors factors{all.sum[0] == 0.0F ? 0.0F : 1.0F / all.sum[0],
                           all.sum[1] == 0.0F ? 0.0F : 1.0F / all.sum[1]};
  write_sums(all.columns, factors, pieces, queries.columns(output, r, kWidth), queries.columns(output, r + 8, kWidth));
  HEED_UNROLL
  for (int half = 0; half < 2; ++half) {
    const int row = r + 8 * half;
    if (lane % 4 == 0 && row < queries.rows && !log_sum_exp.empty()) {
      log_sum_exp(queries.matrix_row(row), queries.head(row)) = log_sum_exp_of(all.largest[half], all.sum[half]);
    }
  }
}

// A block for a tile of queries, of a sequence and a head of keys; and for one split of the keys, where there are
// parts.
template <int kWidth, int kWarps>
__global__ void __launch_bounds__(kWarps* kWarp)
    attention_tiles_kernel(AttentionFrame frame, TileOperands from, Matrix<bf16> output, Matrix<float> log_sum_exp,
                           Matrix<float> parts) {
  using Tile = SharedTile<kWidth, kTileKeys>;
  constexpr int kThreadsOfBlock = kWarps * kWarp, kRows = kWarps * kRowsOfWarp;
  HEED_SHARED(shared);
  const int lane = static_cast<int>(threadIdx.x % kWarp), key_head = static_cast<int>(blockIdx.y);
  const int64_t sequence = blockIdx.x / from.tiles;
  const QueryRows queries(frame, sequence, key_head);
  // The last tiles first: in causal attention they see most.
  const int block_row = static_cast<int>(from.tiles - 1 - blockIdx.x % from.tiles) * kRows;
  if (block_row >= queries.rows) {
    return;
  }
  const int last_row = min(block_row + kRows, queries.rows) - 1;
  int begin = interval_of(frame.visibility, queries.position(block_row), queries.keys).begin;
  int end = interval_of(frame.visibility, queries.position(last_row), queries.keys).end;
  if (!parts.empty()) {
    begin = max(begin, static_cast<int>(blockIdx.z) * kKeySplit);
    end = min(end, (static_cast<int>(blockIdx.z) + 1) * kKeySplit);
  }
  const auto load = [&](int first, int stage) {
    const auto row_of = [&](const Matrix<const bf16>& rows) {
      return [&rows, &from, &queries, sequence, key_head, first](int r) -> const bf16* {
        return first + r < queries.keys ? rows.row(from.tokens.row(sequence, first + r)) + int64_t{key_head} * kWidth
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

  const int first_row = block_row + static_cast<int>(threadIdx.x) / kWarp * kRowsOfWarp, r = first_row + lane / 4;
  LeftRows<kWidth> rows;
  rows.load(queries.columns(from.queries, r, kWidth), queries.columns(from.queries, r + 8, kWidth), from.pieces, lane);
  KeyInterval seen[2];
  RowRandom draws[2];
  HEED_UNROLL
  for (int half = 0; half < 2; ++half) {
    if (const int row = r + 8 * half; row < queries.rows) {
      seen[half] = interval_of(frame.visibility, queries.position(row), queries.keys);
      draws[half] = draws_of(frame, queries.matrix_row(row), queries.head(row));
    }
  }
  const NeededTiles needed = queries.keys_of_warp(frame.visibility, first_row);
  RowsAttended<kWidth> all, split;
  all.clear();
  split.clear();
  for_each_tile<kTileKeys>(begin, end, load, [&](int first, int stage) {
    if (needed.has(first, kTileKeys)) {
      const unsigned char* const tile = shared + stage * 2 * Tile::kBytes;
      WarpSums<kTileKeys / 8> scores;
      multiply_rows<kWidth, kTileKeys>(rows, tile, lane, scores);
      hide(scores, seen, first, lane);
      add_probabilities(scores, frame.scale * kLog2E, split);
      if (frame.dropout.active()) {
        drop(scores, frame, draws, first, lane);
      }
      add_weighted<kWidth, kTileKeys>(scores, tile + Tile::kBytes, lane, split.columns);
    }
    if (parts.empty() && (first + kTileKeys) % kKeySplit == 0) {
      add_split(split, all);
    }
  });
  if (!parts.empty()) {
    write_part(split, frame, queries, first_row, blockIdx.z, from.splits, parts, lane);
    return;
  }
  add_split(split, all);
  write_rows(all, queries, first_row, output, log_sum_exp, from.pieces);
}

constexpr int kPartWarps = 4;

// A warp for each query and head.
template <int kWidth>
__global__ void add_tile_parts_kernel(AttentionFrame frame, int64_t splits, Matrix<const float> parts,
                                      Matrix<bf16> output, Matrix<float> log_sum_exp) {
  const int64_t task = int64_t{blockIdx.x} * kPartWarps + threadIdx.x / kWarp;
  if (task >= frame.queries.rows * frame.heads) {
    return;
  }
  const int lane = static_cast<int>(threadIdx.x % kWarp);
  constexpr int kColumns = kWidth / kWarp;
  float largest = -INFINITY, sum = 0.0F, columns[kColumns] = {};
  for (int64_t split = 0; split < splits; ++split) {
    const float* const part = parts.row(task * splits + split);
    const SplitFactors factors(largest, sum, part[0], part[1]);
    largest = factors.largest;
    sum = factors.add(sum, part[1]);
    HEED_UNROLL
    for (int n = 0; n < kColumns; ++n) {
      columns[n] = factors.add(columns[n], part[2 + lane + n * kWarp]);
    }
  }
  const int64_t row = task / frame.heads, head = task % frame.heads;
  write_row(columns, sum == 0.0F ? 0.0F : 1.0F / sum, kWidth, lane, output.row(row) + head * kWidth);
  if (lane == 0 && !log_sum_exp.empty()) {
    log_sum_exp(row, head) = log_sum_exp_of(largest, sum);
  }
}

// How many blocks keep a device busy.
constexpr int64_t kManyBlocks = 264;

template <int kWidth, int kWarps>
void run_tiles(Context& context, const AttentionFrame& frame, const AttentionRows& rows) {
  const int64_t key_heads = frame.heads / frame.group, tasks = frame.queries.rows * frame.heads;
  TileOperands from{rows.queries,
                    rows.keys,
                    rows.values,
                    rows.tokens,
                    {in_pieces(rows.queries, rows.keys, rows.values), in_pieces(rows.output)}};
  from.tiles = ceil_div<int64_t>(frame.queries.max_length * frame.group, kWarps * kRowsOfWarp);
  const int64_t blocks = frame.queries.count * from.tiles * key_heads;
  from.splits = blocks < kManyBlocks ? std::max<int64_t>(1, ceil_div<int64_t>(frame.keys.max_length, kKeySplit)) : 1;
  Tensor memory;
  Matrix<float> parts;
  if (from.splits > 1) {
    memory = Tensor({tasks * from.splits, 2 + kWidth}, DType::f32, context.arena);
    parts = Operands(context).out<float>(memory.view());
  }
  const Grid grid{dim3(static_cast<unsigned>(frame.queries.count * from.tiles), static_cast<unsigned>(key_heads),
                       static_cast<unsigned>(from.splits)),
                  dim3(kWarps * kWarp), 4 * int64_t{SharedTile<kWidth, kTileKeys>::kBytes}};
  launch(context.queue, grid, attention_tiles_kernel<kWidth, kWarps>, frame, from, rows.output, rows.log_sum_exp,
         parts);
  if (from.splits > 1) {
    launch(context.queue, grid_of_blocks(ceil_div<int64_t>(tasks, kPartWarps), kPartWarps * kWarp),
           add_tile_parts_kernel<kWidth>, frame, from.splits, to_read(parts), rows.output, rows.log_sum_exp);
  }
}

}  // namespace

bool takes_tiles(const AttentionSettings& settings, const ConstView& queries, const ConstKeyValueView& memory) {
  const int64_t width = memory.keys.columns() / settings.key_value_heads;
  return queries.type() == DType::bf16 && memory.keys.type() == DType::bf16 &&
         memory.values.columns() == memory.keys.columns() && (width == 32 || width == 64 || width == 128) &&
         settings.visibility.stride == 1 && settings.mask == nullptr && settings.by_distance.table.empty() &&
         settings.score_cap == 0.0 && settings.scale > 0.0;
}

void attention_by_tiles(Context& context, const AttentionFrame& frame, const AttentionRows& rows) {
  for_head_width(frame.key_width, [&](auto width) {
    const int64_t longest = frame.queries.max_length * frame.group;
    if (longest <= kRowsOfWarp) {
      run_tiles<width(), 1>(context, frame, rows);
    } else if (longest <= 2 * kRowsOfWarp) {
      run_tiles<width(), 2>(context, frame, rows);
    } else {
      run_tiles<width(), 4>(context, frame, rows);
    }
  });
}

}  // namespace heed::cuda
