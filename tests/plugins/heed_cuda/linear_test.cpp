#include <limits>

#include "plugins/heed_cuda/cuda_testing.h"

namespace heed::test {
namespace {

// A matrix in the device's memory, between NaN.
class OnDevice {
 public:
  OnDevice(Backend& backend, const Guarded& from, Layout layout)
      : backend_(backend),
        offset_(layout.offset),
        memory_(backend.keep({from.rows(), layout.offset + from.columns() + layout.padding}, from.type())),
        view_(memory_.view().column_range(layout.offset, from.columns())) {
    backend.fill(memory_.view(), std::numeric_limits<double>::quiet_NaN());
    backend.copy(from.view(), view_);
  }
  const View& view() const { return view_; }

  // What is there now, if all that surrounds it is still NaN.
  Guarded back() const {
    const Guarded all(view_.type(), memory_.view().rows(), memory_.view().columns());
    Guarded result(view_.type(), view_.rows(), view_.columns());
    backend_.copy(memory_.view(), all.view());
    for (int64_t r = 0; r < all.rows(); ++r) {
      for (int64_t c = 0; c < all.columns(); ++c) {
        if (c >= offset_ && c < offset_ + view_.columns()) {
          result.set(r, c - offset_, all.get(r, c));
        } else {
          EXPECT_TRUE(std::isnan(all.get(r, c))) << "written beside the matrix at (" << r << ", " << c << ")";
        }
      }
    }
    return result;
  }

 private:
  Backend& backend_;
  int64_t offset_;
  Tensor memory_;
  View view_;
};

class CudaLinear : public CudaTest {};
HEED_ON_CUDA(CudaLinear);

TEST_P(CudaLinear, OperandsOfTheDeviceMayBePartsOfWiderOnes) {
  for (const Layout layout : {Layout{5, 3}, Layout{8, 8}, Layout{6, 2}}) {
    for (const auto& [rows, in, out] : {std::tuple<int64_t, int64_t, int64_t>{5, 40, 24}, {70, 72, 80}, {70, 33, 17}}) {
      SCOPED_TRACE(fmt::format("{} rows, {} to {}, {} elements off", rows, in, out, layout.offset));
      LinearCase c = LinearCase::make(types(), rows, in, out);
      c.activation = Activation::silu;
      const auto device = [&](const Guarded& from) { return OnDevice(cuda(), from, layout); };
      const OnDevice x = device(c.x), weight = device(c.weight), bias = device(c.bias), d_y = device(c.d_y);
      const OnDevice y = device(c.d_y), before = device(c.d_y), d_x = device(c.x);
      const OnDevice d_weight = device(random(DType::f32, out, in, 8)), d_bias = device(c.bias);
      cuda().linear({.x = x.view(),
                     .weight = {weight.view()},
                     .bias = bias.view(),
                     .activation = c.activation,
                     .y = y.view(),
                     .before = before.view()});
      cuda().linear_input_gradient({.d_y = d_y.view(), .weight = {weight.view()}, .d_x = d_x.view()});
      cuda().linear_weight_gradient(
          {.d_y = d_y.view(), .x = x.view(), .d_weight = d_weight.view(), .d_bias = d_bias.view()});
      const auto expected = c.forward(cuda(), types());
      EXPECT_TRUE(same_bits(y.back(), expected.y));
      EXPECT_TRUE(same_bits(before.back(), expected.before));
      EXPECT_TRUE(same_bits(d_x.back(), c.d_x(cuda(), types())));
      const auto gradients = c.d_weight(cuda(), types());
      EXPECT_TRUE(same_bits(d_weight.back(), gradients.d_weight));
      EXPECT_TRUE(same_bits(d_bias.back(), gradients.d_bias));
    }
  }
}

}  // namespace
}  // namespace heed::test
