// Rows of packed matrices of bytes keep the sums of their numbers, which not all instruction sets read.
#include "kernels/cpu/cpu_testing.h"
#include "kernels/cpu/product/packed_weight.h"
#include "kernels/integer_rows.h"

namespace heed::test {
namespace {

class CpuSelectedSums : public CpuTest {};

TEST_P(CpuSelectedSums, AreThoseOfTheWhole) {
  const auto sums_of = [](const PackedWeight& weight) {
    return std::get<cpu::IntegerPanels>(static_cast<const cpu::CpuWeight&>(weight).panels()).sums;
  };
  for (const int64_t in : {64, 96, 128}) {
    const Guarded scales = random(DType::f32, 1, 70, 5), bytes(DType::i8, 70, in, kTight);
    for (int64_t r = 0; r < 70; ++r) {
      for (int64_t c = 0; c < in; ++c) {
        bytes.set(r, c, static_cast<double>((r * 37 + c * 101) % 255 - 127));
      }
    }
    const RowSource source = [&](int64_t first, int64_t count) { return bytes.view().row_range(first, count); };
    for (const float input_scale : {0.0F, 2.0F / 127.0F}) {
      const auto whole = cpu().pack(Int8Matrix{{70, in}, source, scales.view(), input_scale});
      for (const int64_t count : {1, 15, 16, 17, 33, 100}) {
        std::vector<int32_t> rows;
        for (int64_t i = 0; i < count; ++i) {
          rows.push_back(static_cast<int32_t>((i * 37 + 11) % 70));
        }
        const auto selected = cpu().select_packed_rows(*whole, rows);
        for (size_t i = 0; i < rows.size(); ++i) {
          ASSERT_EQ(sums_of(*selected)[i], sums_of(*whole)[rows[i]]) << "row " << i << " of " << rows.size();
        }
      }
    }
  }
}

HEED_ON_EVERY_PRODUCT(CpuSelectedSums);

}  // namespace
}  // namespace heed::test
