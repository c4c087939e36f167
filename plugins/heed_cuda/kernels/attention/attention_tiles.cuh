// Attention by the matrix units, in bf16: what its kernels share.
//
// A block has a tile of one side's rows, sixteen to a warp, whose operands stay in registers, and goes through tiles of
// the other side, which all warps read from shared memory. The rows of queries are those of all heads that share keys
// and values: row r of a sequence is query r / group, head r % group.
#pragma once

#include "heed_cuda/kernels/attention/attention_paths.h"
#include "heed_cuda/kernels/machine/matrix_units.cuh"
#include "heed_cuda/kernels/machine/pack.cuh"

namespace heed::cuda {

constexpr float kLog2E = 1.44269504F, kLn2 = 0.693147181F;
constexpr int kRowsOfWarp = 16;

struct alignas(16) Piece {  // 16 bytes: eight neighbours of a row
  uint32_t words[4];
};

// How operands lie in memory: where they are in pieces, those are moved at once.
struct Pieces {
  bool read = false, written = false;
};

__device__ inline Piece load_piece(const bf16* from, bool at_once) {
  if (at_once) {
    return *reinterpret_cast<const Piece*>(from);
  }
  Piece piece;
  HEED_UNROLL
  for (int i = 0; i < 4; ++i) {
    piece.words[i] = static_cast<uint32_t>(from[2 * i].bits) | static_cast<uint32_t>(from[2 * i + 1].bits) << 16;
  }
  return piece;
}

// kRows rows of kWidth columns in shared memory. The pieces of a row are exchanged so that what the lanes of a warp
// read together lies in different banks.
template <int kWidth, int kRows>
struct SharedTile {
  static constexpr int kPieces = kWidth / kPieceOf;
  static constexpr int kBytes = kRows * kWidth * 2;

  __device__ static int offset(int row, int piece) {
    const int turn = kPieces == 4 ? (row / 2) % 4 : (row % 2) * 4 + (row / 2) % 4;
    return (row * kPieces + (piece ^ turn)) * static_cast<int>(sizeof(Piece));
  }

  // row_of(r) is the address of row r, or null for zeros.
  template <int kThreadsOfBlock, class RowOf>
  __device__ static void load(const RowOf& row_of, const Pieces& pieces, unsigned char* shared) {
    for (int i = static_cast<int>(threadIdx.x); i < kRows * kPieces; i += kThreadsOfBlock) {
      const bf16* const row = row_of(i / kPieces);
      unsigned char* const to = shared + offset(i / kPieces, i % kPieces);
      if (row != nullptr && pieces.read) {
        copy_async(to, row + i % kPieces * kPieceOf, sizeof(Piece));
      } else {
        *reinterpret_cast<Piece*>(to) =
            row != nullptr ? load_piece(row + i % kPieces * kPieceOf, /*at_once=*/false) : Piece{};
      }
    }
  }

  // Rows as columns of a right operand, whose k is the rows' columns: of column `first` + lane / 4 the words of both
  // steps of slice `slice`, 32 columns. Their places along k are dealt out so that they are one piece.
  __device__ static Piece across(const unsigned char* shared, int first, int slice, int lane) {
    return *reinterpret_cast<const Piece*>(shared + offset(first + lane / 4, 4 * slice + lane % 4));
  }
  // As a right operand whose k is the rows, 16 from `first` on, and whose columns are the rows' columns: words 0 and 1
  // are of columns 16 * pair and on, words 2 and 3 of the next eight.
  __device__ static Words4 down(const unsigned char* shared, int first, int pair, int lane) {
    const int matrix = lane / 8;
    return load_transposed(shared + offset(first + matrix % 2 * 8 + lane % 8, 2 * pair + matrix / 2));
  }
};

// The left operand of sixteen rows of kWidth columns, whose k is dealt out as SharedTile's.
template <int kWidth>
struct LeftRows {
  static constexpr int kSlices = kWidth / 32;
  Piece upper[kSlices], lower[kSlices];  // of rows lane / 4 and 8 further

  // Addresses of this lane's two rows; null for zeros.
  __device__ void load(const bf16* upper_row, const bf16* lower_row, const Pieces& pieces, int lane) {
    HEED_UNROLL
    for (int slice = 0; slice < kSlices; ++slice) {
      const int column = 32 * slice + lane % 4 * kPieceOf;
      upper[slice] = upper_row != nullptr ? load_piece(upper_row + column, pieces.read) : Piece{};
      lower[slice] = lower_row != nullptr ? load_piece(lower_row + column, pieces.read) : Piece{};
    }
  }
  __device__ LeftWords words(int slice, int step) const {
    return {{upper[slice].words[2 * step], lower[slice].words[2 * step], upper[slice].words[2 * step + 1],
             lower[slice].words[2 * step + 1]}};
  }
};

// A warp's sixteen rows of 8 kTiles columns: c[n][0], c[n][1] are of row lane / 4, columns 8 n + 2 (lane % 4) and the
// next, c[n][2], c[n][3] of the row 8 further.
template <int kTiles>
struct WarpSums {
  float c[kTiles][4];

  __device__ void clear() {
    HEED_UNROLL
    for (int n = 0; n < kTiles; ++n) {
      HEED_UNROLL
      for (int i = 0; i < 4; ++i) {
        c[n][i] = 0.0F;
      }
    }
  }
};

// sums = rows tile^T
template <int kWidth, int kRows>
__device__ inline void multiply_rows(const LeftRows<kWidth>& rows, const unsigned char* tile, int lane,
                                     WarpSums<kRows / 8>& sums) {
  sums.clear();
  HEED_UNROLL
  for (int slice = 0; slice < kWidth / 32; ++slice) {
    HEED_UNROLL
    for (int n = 0; n < kRows / 8; ++n) {
      const Piece piece = SharedTile<kWidth, kRows>::across(tile, 8 * n, slice, lane);
      multiply_add(sums.c[n], rows.words(slice, 0), RightWords{{piece.words[0], piece.words[1]}});
      multiply_add(sums.c[n], rows.words(slice, 1), RightWords{{piece.words[2], piece.words[3]}});
    }
  }
}

// sums += weights tile, where weights, as multiply_rows leaves them, are rounded to bf16.
template <int kWidth, int kRows>
__device__ inline void add_weighted(const WarpSums<kRows / 8>& weights, const unsigned char* tile, int lane,
                                    WarpSums<kWidth / 8>& sums) {
  HEED_UNROLL
  for (int step = 0; step < kRows / 16; ++step) {
    const auto& left = weights.c[2 * step];
    const auto& right = weights.c[2 * step + 1];
    const LeftWords words{{bf16_pair(left[0], left[1]), bf16_pair(left[2], left[3]), bf16_pair(right[0], right[1]),
                           bf16_pair(right[2], right[3])}};
    HEED_UNROLL
    for (int pair = 0; pair < kWidth / 16; ++pair) {
      const Words4 w = SharedTile<kWidth, kRows>::down(tile, 16 * step, pair, lane);
      multiply_add(sums.c[2 * pair], words, RightWords{{w.words[0], w.words[1]}});
      multiply_add(sums.c[2 * pair + 1], words, RightWords{{w.words[2], w.words[3]}});
    }
  }
}

// Two neighbours of a row.
__device__ inline void write_pair(float first, float second, const Pieces& pieces, bf16* to) {
  if (pieces.written) {
    *reinterpret_cast<uint32_t*>(to) = bf16_pair(first, second);
  } else {
    to[0] = bf16(first);
    to[1] = bf16(second);
  }
}

// sums * factor of a warp's rows lane / 4 and 8 further, to rows of bf16; null: nowhere.
struct RowFactors {
  float upper, lower;
};
template <int kTiles>
__device__ inline void write_sums(const WarpSums<kTiles>& sums, const RowFactors& factors, const Pieces& pieces,
                                  bf16* upper, bf16* lower) {
  const int lane = static_cast<int>(threadIdx.x % kWarp);
  HEED_UNROLL
  for (int n = 0; n < kTiles; ++n) {
    const int column = 8 * n + 2 * (lane % 4);
    if (upper != nullptr) {
      write_pair(sums.c[n][0] * factors.upper, sums.c[n][1] * factors.upper, pieces, upper + column);
    }
    if (lower != nullptr) {
      write_pair(sums.c[n][2] * factors.lower, sums.c[n][3] * factors.lower, pieces, lower + column);
    }
  }
}

// The keys [begin, end) that a query sees.
struct KeyInterval {
  int begin = 0, end = 0;
  __device__ bool has(int key) const { return key >= begin && key < end; }
  __device__ bool has_all(int first, int count) const { return first >= begin && first + count <= end; }
};
__device__ inline KeyInterval interval_of(const Visibility& visibility, int64_t position, int64_t keys) {
  const SeenKeys seen = keys_seen(visibility, position, keys);
  return {static_cast<int>(seen.begin), static_cast<int>(seen.end)};
}

// Tiles of the other side, from `first` on, that a warp needs: another one changes nothing, and costs time.
struct NeededTiles {
  int begin, end;
  __device__ bool has(int first, int count) const { return first < end && first + count > begin; }
};

// A sequence's rows of queries, for a head of keys.
struct QueryRows {
  int64_t first_row, offset, keys;  // of the matrix of queries; the first query's position
  int rows, group, first_head;

  __device__ QueryRows(const AttentionFrame& frame, int64_t sequence, int key_head)
      : first_row(frame.queries.offsets[sequence]),
        keys(frame.keys.offsets[sequence + 1] - frame.keys.offsets[sequence]),
        group(frame.group),
        first_head(key_head * frame.group) {
    const int64_t queries = frame.queries.offsets[sequence + 1] - first_row;
    offset = keys - queries;
    rows = static_cast<int>(queries) * group;
  }
  __device__ int64_t matrix_row(int r) const { return first_row + r / group; }
  __device__ int head(int r) const { return first_head + r % group; }
  __device__ int64_t position(int r) const { return offset + r / group; }
  // The keys that a warp's rows, from `first` on, see.
  __device__ NeededTiles keys_of_warp(const Visibility& visibility, int first) const {
    if (first >= rows) {
      return {0, 0};
    }
    return {interval_of(visibility, position(first), keys).begin,
            interval_of(visibility, position(min(first + kRowsOfWarp, rows) - 1), keys).end};
  }
  template <class T>
  __device__ T* columns(const Matrix<T>& of, int r, int width) const {
    return r < rows ? of.row(matrix_row(r)) + int64_t{head(r)} * width : nullptr;
  }
};

// Calls use(first, stage) for each tile of kRows rows that has some of [begin, end), in order, while load(first, stage)
// brings the next one into the other of two stages, in one group of copies. Rows from `end` on are not to be loaded.
template <int kRows, class Load, class Use>
__device__ inline void for_each_tile(int begin, int end, const Load& load, const Use& use) {
  int stage = 0;
  load(begin / kRows * kRows, 0);
  for (int first = begin / kRows * kRows; first < end; first += kRows) {
    load(first + kRows, 1 - stage);
    wait_for_groups<1>();
    __syncthreads();
    use(first, stage);
    __syncthreads();  // before the next but one tile takes this one's place
    stage = 1 - stage;
  }
}

// Calls body with the width of heads, as a constant.
template <class Body>
void for_head_width(int64_t width, Body&& body) {
  if (width == 32) {
    body(std::integral_constant<int, 32>{});
  } else if (width == 64) {
    body(std::integral_constant<int, 64>{});
  } else {
    body(std::integral_constant<int, 128>{});
  }
}

}  // namespace heed::cuda
