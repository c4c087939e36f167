// Weights in panels of 16-bit floats: the same sums in the same order as without panels.
#include "kernels/half_panels.h"
#include "plugins/heed_cuda/cuda_testing.h"

namespace heed::test {
namespace {

class CudaHalves : public CudaTest {
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
    adopted_ = cuda().adopt(HalfPanels{{out, in}, type, to, nullptr}, storage());
    by_reference_ = reference().adopt(HalfPanels{{out, in}, type, to, nullptr}, storage());
    const DType weights = type == HalfType::f16 ? DType::f32 : DType::bf16;
    packed_ = cuda().pack({out, in}, {.weights = weights, .inputs = storage()},
                          [this](int64_t row, int64_t count) { return values_.view().row_range(row, count); });
  }

  void expect_the_bits_without_panels(HalfType type) {
    for (const int64_t out : {1, 33}) {
      for (const int64_t in : {1, 3, 64, 67, 513}) {
        make(type, out, in);
        for (const int64_t count : {1, 17}) {
          LinearCase c = LinearCase::make(types(), count, in, out);
          c.packed = packed_.get();
          const Guarded y = c.forward(cuda(), types()).y;
          c.packed = adopted_.get();
          const Guarded y_of_panels = c.forward(cuda(), types()).y;
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

TEST_P(CudaHalves, ProductsOfBf16HaveTheBitsOfWeightsThatWerePackedHere) {
  expect_the_bits_without_panels(HalfType::bf16);
}

TEST_P(CudaHalves, ProductsOfF16HaveTheBitsOfTheSameWeightsInF32) { expect_the_bits_without_panels(HalfType::f16); }

HEED_ON_CUDA(CudaHalves);

}  // namespace
}  // namespace heed::test
