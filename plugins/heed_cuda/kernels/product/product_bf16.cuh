// Products of bf16 by the matrix units, in tiles that a block sums in registers from a ring of slices of k in shared
// memory.
//
// A slice is 32 deep, two steps of the units. Their places along k are dealt out so that a lane's words of both steps
// are 16 bytes of a row: place 2 t + e of the half h of step s holds k = 8 t + 2 h + 4 s + e. All kernels of bf16 deal
// alike, so that they give the same bits.
#pragma once

#include "heed_cuda/kernels/machine/matrix_units.cuh"
#include "heed_cuda/kernels/product/product_operand.cuh"

namespace heed::cuda {

constexpr int kSliceDepth = 32;
constexpr int kPieceElements = 8;  // 16 bytes

// kRows x kColumns by a block, kWarpRows x kWarpColumns by a warp.
template <int kRowsOfBlock, int kColumnsOfBlock, int kRowsOfWarp, int kColumnsOfWarp, int kSlicesInRing>
struct Bf16Tile {
  static constexpr int kRows = kRowsOfBlock, kColumns = kColumnsOfBlock;
  static constexpr int kWarpRows = kRowsOfWarp, kWarpColumns = kColumnsOfWarp;
  static constexpr int kStages = kSlicesInRing;
  static constexpr int kWarps = (kRows / kWarpRows) * (kColumns / kWarpColumns);
  static constexpr int kThreadsOfBlock = kWarps * kWarp;
  static constexpr int kSliceBytes = (kRows + kColumns) * kSliceDepth * 2;
  static constexpr int kSharedBytes = kStages * kSliceBytes;
};
using LargeBf16Tile = Bf16Tile<128, 128, 64, 32, 4>;
using MediumBf16Tile = Bf16Tile<128, 64, 64, 32, 4>;
using SmallBf16Tile = Bf16Tile<64, 64, 32, 32, 4>;

// 16 bytes of a slice from memory: `valid` elements, then zeros.
__device__ inline void load_piece(unsigned char* to, const bf16* from, int valid, bool aligned) {
  if (aligned) {
    copy_async(to, from, valid * 2);
    return;
  }
  auto* const elements = reinterpret_cast<bf16*>(to);
  for (int i = 0; i < kPieceElements; ++i) {
    bf16 x;
    x.bits = i < valid ? from[i].bits : uint16_t{0};
    elements[i] = x;
  }
}

__device__ inline int valid_of_piece(int64_t left) {
  return static_cast<int>(max(int64_t{0}, min(int64_t{kPieceElements}, left)));
}

// One operand's part of a slice: kOuter of its m (or n), from `first` on. In memory where a row is one of them,
// [outer][4 pieces of k], and otherwise [k][pieces of outer], in which piece p of row k is at p ^ turn(k): what is read
// together lies in different banks.
template <RowsOf kRowsAre, int kOuter, int kThreadsOfBlock>
class Bf16Slice {
 public:
  static constexpr int kBytes = kOuter * kSliceDepth * 2;

  // Which pieces this thread brings.
  __device__ Bf16Slice(const ProductOperand<bf16>& from, int64_t first, int64_t outer, int64_t depth)
      : from_(from), depth_(depth) {
    HEED_UNROLL
    for (int j = 0; j < kPieces; ++j) {
      const Piece piece = piece_of(j);
      const int64_t at = first + piece.outer, left = outer - at;
      if constexpr (kRowsAre == RowsOf::outer) {
        valid_[j] = left > 0 ? kPieceElements : 0;
        pieces_[j] = from.data + (left > 0 ? at * from.stride + piece.k : 0);
      } else {
        valid_[j] = valid_of_piece(left);
        pieces_[j] = from.data + (left > 0 ? piece.k * from.stride + at : 0);
      }
    }
  }

  __device__ void load(int64_t slice, unsigned char* shared) const {
    const int64_t first_k = slice * kSliceDepth, left = depth_ - first_k;
    const int64_t step = kRowsAre == RowsOf::outer ? first_k : first_k * from_.stride;
    HEED_UNROLL
    for (int j = 0; j < kPieces; ++j) {
      const Piece piece = piece_of(j);
      int valid = valid_[j];
      if constexpr (kRowsAre == RowsOf::outer) {
        valid = min(valid, valid_of_piece(left - piece.k));
      } else {
        valid = piece.k < left ? valid : 0;
      }
      load_piece(shared + piece.offset, valid > 0 ? pieces_[j] + step : from_.data, valid, from_.aligned);
    }
  }

  // The words of this lane, of 8 neighbours from `first` on, in both steps: words 0 and 1 are the halves of the first.
  __device__ static Words4 words(const unsigned char* shared, int first) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    if constexpr (kRowsAre == RowsOf::outer) {
      return *reinterpret_cast<const Words4*>(shared + (first + lane / 4) * kSliceDepth * 2 + lane % 4 * 16);
    } else {
      constexpr int kPiecesOfRow = kOuter / kPieceElements;
      const int row = lane % 8, matrix = lane / 8;
      const int k = 8 * (row / 2) + row % 2 + 2 * (matrix % 2) + 4 * (matrix / 2);
      return load_transposed(shared + (k * kPiecesOfRow + ((first / kPieceElements) ^ turn(k))) * 16);
    }
  }

 private:
  static constexpr int kPieces = kBytes / 16 / kThreadsOfBlock;
  static_assert(kPieces * kThreadsOfBlock * 16 == kBytes);

  struct Piece {
    int outer, k, offset;
  };
  __device__ static int turn(int k) { return k % 2 | (k / 8) << 1; }
  __device__ static Piece piece_of(int j) {
    const int i = static_cast<int>(threadIdx.x) + j * kThreadsOfBlock;
    if constexpr (kRowsAre == RowsOf::outer) {
      constexpr int kPiecesOfRow = kSliceDepth / kPieceElements;
      return {i / kPiecesOfRow, i % kPiecesOfRow * kPieceElements, i * 16};
    } else {
      constexpr int kPiecesOfRow = kOuter / kPieceElements;
      const int k = i / kPiecesOfRow, piece = i % kPiecesOfRow;
      return {piece * kPieceElements, k, (k * kPiecesOfRow + (piece ^ turn(k))) * 16};
    }
  }

  ProductOperand<bf16> from_;
  int64_t depth_;
  const bf16* pieces_[kPieces];
  int valid_[kPieces];
};

// Whose sums this thread holds, of the product of a warp: of each 16 x 8, rows lane / 4 and 8 further, two columns
// each.
template <class Tile>
struct Bf16Sums {
  static constexpr int kTilesM = Tile::kWarpRows / 16, kTilesN = Tile::kWarpColumns / 8;
  float of_chunk[kTilesM][kTilesN][4], total[kTilesM][kTilesN][4];

  __device__ void clear() {
    for_each([](float& chunk, float& sum) { chunk = sum = 0.0F; });
  }
  __device__ void end_chunk() {
    for_each([](float& chunk, float& sum) {
      sum += chunk;
      chunk = 0.0F;
    });
  }

 private:
  template <class Body>
  __device__ void for_each(const Body& body) {
    HEED_UNROLL
    for (int m = 0; m < kTilesM; ++m) {
      HEED_UNROLL
      for (int n = 0; n < kTilesN; ++n) {
        HEED_UNROLL
        for (int i = 0; i < 4; ++i) {
          body(of_chunk[m][n][i], total[m][n][i]);
        }
      }
    }
  }
};

template <class Tile, class SliceA, class SliceB>
__device__ inline void add_slice(const unsigned char* a, const unsigned char* b, int row, int column,
                                 Bf16Sums<Tile>& sums) {
  constexpr int kTilesM = Bf16Sums<Tile>::kTilesM, kTilesN = Bf16Sums<Tile>::kTilesN;
  Words4 left[kTilesM][2], right[kTilesN];
  HEED_UNROLL
  for (int m = 0; m < kTilesM; ++m) {
    left[m][0] = SliceA::words(a, row + 16 * m);
    left[m][1] = SliceA::words(a, row + 16 * m + 8);
  }
  HEED_UNROLL
  for (int n = 0; n < kTilesN; ++n) {
    right[n] = SliceB::words(b, column + 8 * n);
  }
  HEED_UNROLL
  for (int step = 0; step < 2; ++step) {
    HEED_UNROLL
    for (int m = 0; m < kTilesM; ++m) {
      const LeftWords words{{left[m][0].words[2 * step], left[m][1].words[2 * step], left[m][0].words[2 * step + 1],
                             left[m][1].words[2 * step + 1]}};
      HEED_UNROLL
      for (int n = 0; n < kTilesN; ++n) {
        multiply_add(sums.of_chunk[m][n], words, RightWords{{right[n].words[2 * step], right[n].words[2 * step + 1]}});
      }
    }
  }
}

// finish(r, c, C[r, c], C[r, c + 1]) for all even c.
template <class Tile, RowsOf kRowsOfA, RowsOf kRowsOfB, class Finish>
__global__ void __launch_bounds__(Tile::kThreadsOfBlock)
    bf16_product(ProductOperand<bf16> a, ProductOperand<bf16> b, ProductSize size, Finish finish) {
  using SliceA = Bf16Slice<kRowsOfA, Tile::kRows, Tile::kThreadsOfBlock>;
  using SliceB = Bf16Slice<kRowsOfB, Tile::kColumns, Tile::kThreadsOfBlock>;
  HEED_SHARED(shared);
  const int64_t first_m = static_cast<int64_t>(blockIdx.y) * Tile::kRows;
  const int64_t first_n = static_cast<int64_t>(blockIdx.x) * Tile::kColumns;
  const SliceA slice_a(a, first_m, size.m, size.k);
  const SliceB slice_b(b, first_n, size.n, size.k);
  const int64_t slices = ceil_div(size.k, kSliceDepth), slices_of_chunk = chunk_length(size.k) / kSliceDepth;
  const auto load = [&](int64_t slice) {
    if (slice < slices) {
      unsigned char* const to = shared + slice % Tile::kStages * Tile::kSliceBytes;
      slice_a.load(slice, to);
      slice_b.load(slice, to + SliceA::kBytes);
    }
    end_group();
  };

  const int warp = static_cast<int>(threadIdx.x) / kWarp, lane = static_cast<int>(threadIdx.x) % kWarp;
  constexpr int kWarpsAlongN = Tile::kColumns / Tile::kWarpColumns;
  const int row = warp / kWarpsAlongN * Tile::kWarpRows, column = warp % kWarpsAlongN * Tile::kWarpColumns;
  Bf16Sums<Tile> sums;
  sums.clear();
  for (int slice = 0; slice < Tile::kStages - 1; ++slice) {
    load(slice);
  }
  for (int64_t slice = 0; slice < slices; ++slice) {
    wait_for_groups<Tile::kStages - 2>();
    __syncthreads();
    load(slice + Tile::kStages - 1);  // where the slice before this one was: all threads have read it
    const unsigned char* const at = shared + slice % Tile::kStages * Tile::kSliceBytes;
    add_slice<Tile, SliceA, SliceB>(at, at + SliceA::kBytes, row, column, sums);
    if ((slice + 1) % slices_of_chunk == 0) {
      sums.end_chunk();
    }
  }
  sums.end_chunk();
  HEED_UNROLL
  for (int m = 0; m < Bf16Sums<Tile>::kTilesM; ++m) {
    HEED_UNROLL
    for (int n = 0; n < Bf16Sums<Tile>::kTilesN; ++n) {
      const int64_t r = first_m + row + 16 * m + lane / 4, c = first_n + column + 8 * n + 2 * (lane % 4);
      if (r < size.m && c < size.n) {
        finish(r, c, sums.total[m][n][0], sums.total[m][n][1]);
      }
      if (r + 8 < size.m && c < size.n) {
        finish(r + 8, c, sums.total[m][n][2], sums.total[m][n][3]);
      }
    }
  }
}

}  // namespace heed::cuda
