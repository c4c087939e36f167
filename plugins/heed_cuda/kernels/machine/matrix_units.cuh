// The device's matrix units, and what feeds them. All are collectives of a warp, or of one thread; on the CPU their
// twins give each lane the same parts of the same matrices.
//
// Lane l of a warp is (group g = l / 4, member t = l % 4). Of a product of 16 x k and k x 8 it holds
//   c[0], c[1]: row g, columns 2 t and 2 t + 1        c[2], c[3]: the same of row g + 8
// and of its operands, in words of neighbours along k (two of bf16, four of 8 bits), with words w in place of k:
//   a[0]: row g, word t    a[1]: row g + 8, word t    a[2]: row g, word t + 4    a[3]: row g + 8, word t + 4
//   b[0]: column g, word t    b[1]: column g, word t + 4
#pragma once

#include "heed_cuda/device/language.h"

namespace heed::cuda {

struct LeftWords {
  uint32_t words[4];
};
struct RightWords {
  uint32_t words[2];
};
struct alignas(16) Words4 {
  uint32_t words[4];
};

#ifdef __CUDACC__

// c += a b, of bf16, k = 16.
__device__ inline void multiply_add(float (&c)[4], const LeftWords& a, const RightWords& b) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a.words[0]), "r"(a.words[1]), "r"(a.words[2]), "r"(a.words[3]), "r"(b.words[0]), "r"(b.words[1]));
}

// c += a b, of 8-bit integers, k = 32.
__device__ inline void multiply_add(int (&c)[4], const LeftWords& a, const RightWords& b) {
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
      : "r"(a.words[0]), "r"(a.words[1]), "r"(a.words[2]), "r"(a.words[3]), "r"(b.words[0]), "r"(b.words[1]));
}

// Four 8 x 8 matrices of 16 bits in shared memory, transposed. Lane l names row l % 8 of matrix l / 8; word i is, of
// matrix i, rows 2 t and 2 t + 1 of column g.
__device__ inline Words4 load_transposed(const void* row) {
  Words4 w;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(w.words[0]), "=r"(w.words[1]), "=r"(w.words[2]), "=r"(w.words[3])
               : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(row)))
               : "memory");
  return w;
}

// `bytes` of 16 from global to shared memory, both aligned, and zeros behind them: there once the thread has waited for
// its group, and for others behind a barrier after that.
__device__ inline void copy_async(void* shared, const void* global, int bytes = 16) {
  asm volatile(
      "cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(static_cast<uint32_t>(__cvta_generic_to_shared(shared))),
      "l"(global), "r"(bytes)
      : "memory");
}
__device__ inline void end_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Until all but the last `kPending` groups of this thread are there.
template <int kPending>
__device__ inline void wait_for_groups() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

#else

namespace emulation {

struct OperandWords {
  LeftWords a;
  RightWords b;
};

// The words of a row of the left operand, or of a column of the right one, as the lanes handed them over.
struct GatheredOperands {
  const unsigned char* all;

  uint32_t left(int row, int word) const { return of(row % 8, word).a.words[(row / 8) + 2 * (word / 4)]; }
  uint32_t right(int column, int word) const { return of(column, word).b.words[word / 4]; }

 private:
  OperandWords of(int group, int word) const {
    OperandWords words;
    std::memcpy(&words, all + static_cast<size_t>(4 * group + word % 4) * kMostExchanged, sizeof(words));
    return words;
  }
};

inline double dot(uint32_t a, uint32_t b, float /*type*/) {
  const auto at = [](uint32_t word) { return static_cast<double>(std::bit_cast<float>(word)); };
  return at(a << 16) * at(b << 16) + at(a & 0xffff0000U) * at(b & 0xffff0000U);
}
inline int dot(uint32_t a, uint32_t b, int /*type*/) { return __dp4a(static_cast<int>(a), static_cast<int>(b), 0); }

}  // namespace emulation

template <class T>
void multiply_add(T (&c)[4], const LeftWords& a, const RightWords& b) {
  const emulation::OperandWords own{a, b};
  const emulation::GatheredOperands operands{emulation::gather(&own, sizeof(own))};
  const int group = heed_lane() / 4, member = heed_lane() % 4;
  for (int i = 0; i < 4; ++i) {
    auto sum = static_cast<decltype(emulation::dot(0U, 0U, T{}))>(c[i]);
    for (int word = 0; word < 8; ++word) {
      sum += emulation::dot(operands.left(group + i / 2 * 8, word), operands.right(2 * member + i % 2, word), T{});
    }
    c[i] = static_cast<T>(sum);
  }
}

inline Words4 load_transposed(const void* row) {
  const unsigned char* const rows = emulation::gather(&row, sizeof(row));
  const int group = heed_lane() / 4, member = heed_lane() % 4;
  const auto element = [&](int matrix, int of_row) {
    const unsigned char* at = nullptr;
    std::memcpy(&at, rows + static_cast<size_t>(8 * matrix + of_row) * emulation::kMostExchanged, sizeof(at));
    uint16_t value = 0;
    std::memcpy(&value, at + 2 * group, sizeof(value));
    return static_cast<uint32_t>(value);
  };
  Words4 w{};
  for (int i = 0; i < 4; ++i) {
    w.words[i] = element(i, 2 * member) | element(i, 2 * member + 1) << 16;
  }
  return w;
}

inline void copy_async(void* shared, const void* global, int bytes = 16) {
  std::memset(shared, 0, 16);
  std::memcpy(shared, global, static_cast<size_t>(bytes));
}
inline void end_group() {}
template <int kPending>
void wait_for_groups() {}

#endif

}  // namespace heed::cuda
