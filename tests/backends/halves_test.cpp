// Weights in panels of 16-bit floats, which the CPU uses where they are: the same sums in the same order as without
// panels.
#include <numeric>

#include "backends/backend_test.h"
#include "kernels/half_panels.h"

namespace heed::test {
namespace {

class BackendHalves : public BackendTest {
 protected:
  // The same values in panels, and as a weight that the backend packs itself.
  void make(HalfType type, int64_t out, int64_t in) {
    values_ = random(DType::f32, out, in, 2, 0.3);
    std::vector<uint16_t> bits;
    for (int64_t r = 0; r < out; ++r) {
      for (int64_t c = 0; c < in; ++c) {
        const auto exact = static_cast<float>(values_.get(r, c));
        bits.push_back(to_bits(type, exact));
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
    adopted_ = backend().adopt(HalfPanels{{out, in}, type, to, nullptr}, storage());
    by_reference_ = reference().adopt(HalfPanels{{out, in}, type, to, nullptr}, storage());
    const DType weights = type == HalfType::f16 ? DType::f32 : DType::bf16;
    packed_ = backend().pack({out, in}, {.weights = weights, .inputs = storage()},
                             [this](int64_t row, int64_t count) { return values_.view().row_range(row, count); });
  }

  void expect_the_bits_without_panels(HalfType type) {
    for (const int64_t out : sizes({.cpu = {1, 33, 100}, .cuda = {1, 33}})) {
      for (const int64_t in : sizes({.cpu = kDepths, .cuda = {1, 3, 64, 67, 513}})) {
        make(type, out, in);
        for (const int64_t count : sizes({.cpu = {1, 2, 3, 5, 6, 7, 12, 13, 25, 40}, .cuda = {1, 17}})) {
          LinearCase c = LinearCase::make(types(), count, in, out);
          c.packed = packed_.get();
          const Guarded y = c.forward(backend(), types()).y;
          c.packed = adopted_.get();
          const Guarded y_of_panels = c.forward(backend(), types()).y;
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

TEST_P(BackendHalves, ProductsOfBf16HaveTheBitsOfWeightsThatWerePackedHere) {
  expect_the_bits_without_panels(HalfType::bf16);
}

TEST_P(BackendHalves, ProductsOfF16HaveTheBitsOfTheSameWeightsInF32) { expect_the_bits_without_panels(HalfType::f16); }

TEST_P(BackendHalves, RowsOfATableAreTheirValues) {
  for (const HalfType type : {HalfType::bf16, HalfType::f16}) {
    make(type, 70, 33);
    std::vector<int64_t> all(70);
    std::iota(all.begin(), all.end(), 0);
    const Guarded tokens = integers(all), found(storage(), 70, 33);
    backend().embedding({.tokens = tokens.view(), .table = {{}, adopted_.get()}, .y = found.view()});
    EXPECT_TRUE(same_bits(found, converted(values_, storage())));
    if (GetParam().device == Device::cpu) {
      EXPECT_EQ(adopted_->bytes(), 96 * 34 * 2);
    }
  }
}

HEED_IN_EACH_SETTING(BackendHalves, products);

}  // namespace
}  // namespace heed::test
