// Weights in panels of 16-bit floats, used where they are: the same sums in the same order as without panels.
#include "kernels/cpu/cpu_testing.h"
#include "kernels/cpu/product/packed_weight.h"
#include "kernels/half_panels.h"

namespace heed::test {
namespace {

class CpuHalves : public CpuTest {
 protected:
  // The same values in panels, and as a weight that the backend packs itself.
  void make(HalfType type, int64_t out, int64_t in) {
    values_ = random(DType::f32, out, in, 2, 0.3);
    std::vector<uint16_t> bits;
    for (int64_t r = 0; r < out; ++r) {
      for (int64_t c = 0; c < in; ++c) {
        const auto exact = static_cast<float>(values_.get(r, c));
        bits.push_back(type == HalfType::f16 ? half_from(exact) : bf16(exact).bits);
        values_.set(r, c, static_cast<double>(from_bits(type, bits.back())));
      }
    }
    const int64_t words = half_panel_words(in);
    panels_ = Tensor({half_panels_of(out) * words}, DType::f32, arena_);
    auto* const to = reinterpret_cast<uint32_t*>(panels_.data<float>());
    for (int64_t first = 0; first < out; first += kHalfPanelRows) {
      write_half_panel({bits.data() + first * in, std::min(kHalfPanelRows, out - first), in, in},
                       to + first / kHalfPanelRows * words);
    }
    adopted_ = cpu().adopt(HalfPanels{{out, in}, type, to, nullptr}, storage());
    by_reference_ = reference().adopt(HalfPanels{{out, in}, type, to, nullptr}, storage());
    const DType weights = type == HalfType::f16 ? DType::f32 : DType::bf16;
    packed_ = cpu().pack({out, in}, {.weights = weights, .inputs = storage()},
                         [this](int64_t row, int64_t count) { return values_.view().row_range(row, count); });
  }

  void expect_the_bits_without_panels(HalfType type) {
    for (const int64_t out : {1, 33, 100}) {
      for (const int64_t in : kDepths) {
        make(type, out, in);
        for (const int64_t count : {1, 2, 3, 5, 6, 7, 12, 13, 25, 40}) {
          LinearCase c = LinearCase::make(types(), count, in, out);
          c.packed = packed_.get();
          const Guarded y = c.forward(cpu(), types()).y;
          c.packed = adopted_.get();
          const Guarded y_of_panels = c.forward(cpu(), types()).y;
          EXPECT_TRUE(same_bits(y, y_of_panels)) << count << " rows, " << in << " to " << out;
          EXPECT_TRUE(y_of_panels.untouched());
          c.packed = by_reference_.get();
          EXPECT_TRUE(close(y_of_panels, c.forward(reference(), kReferenceTypes).y, stored()));
        }
      }
    }
  }

  Guarded values_;
  std::unique_ptr<PackedWeight> adopted_, by_reference_, packed_;
  Arena arena_;
  Tensor panels_;
};

TEST_P(CpuHalves, ProductsOfBf16HaveTheBitsOfWeightsThatWerePackedHere) {
  expect_the_bits_without_panels(HalfType::bf16);
}

TEST_P(CpuHalves, ProductsOfF16HaveTheBitsOfTheSameWeightsInF32) { expect_the_bits_without_panels(HalfType::f16); }

TEST_P(CpuHalves, RowsOfATableAreTheirValues) {
  for (const HalfType type : {HalfType::bf16, HalfType::f16}) {
    make(type, 70, 33);
    for (int64_t row = 0; row < 70; ++row) {
      std::vector<float> read(33);
      static_cast<const cpu::CpuWeight&>(*adopted_).read_row(row, read.data());
      for (int64_t c = 0; c < 33; ++c) {
        EXPECT_EQ(read[static_cast<size_t>(c)], static_cast<float>(values_.get(row, c)));
      }
    }
    EXPECT_EQ(adopted_->bytes(), 96 * 34 * 2);
  }
}

HEED_ON_EVERY_PRODUCT(CpuHalves);

}  // namespace
}  // namespace heed::test
