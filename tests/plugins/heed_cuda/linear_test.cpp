#include <limits>

#include "plugins/heed_cuda/cuda_testing.h"
#include "plugins/heed_cuda/same_rows.h"

namespace heed::test {
namespace {

// Around the edges of tiles and of their parts, and of slices along k.
constexpr int64_t kEdges[] = {1, 2, 7, 8, 9, 16, 17, 31, 33, 63, 64, 65, 130};
constexpr int64_t kLinearDepths[] = {1, 3, 15, 16, 17, 31, 32, 33, 64, 65, 511, 513, 1100};
constexpr Activation kActivations[] = {Activation::none,      Activation::relu, Activation::gelu,
                                       Activation::gelu_tanh, Activation::silu, Activation::tanh};

class CudaLinear : public CudaTest {
 protected:
  void expect_forward(const LinearCase& c) {
    const auto actual = c.forward(cuda(), types());
    const auto expected = c.forward(reference(), kReferenceTypes);
    EXPECT_TRUE(close(actual.y, expected.y, stored()));
    EXPECT_TRUE(close(actual.before, expected.before, stored()));
  }
  void expect_gradients(const LinearCase& c, double scale = 1.0) {
    EXPECT_TRUE(close(c.d_x(cuda(), types(), scale), c.d_x(reference(), kReferenceTypes, scale), stored()));
    const auto actual = c.d_weight(cuda(), types(), scale);
    const auto expected = c.d_weight(reference(), kReferenceTypes, scale);
    EXPECT_TRUE(close(actual.d_weight, expected.d_weight, kF32));
    EXPECT_TRUE(close(actual.d_bias, expected.d_bias, kF32));
  }
  LinearCase make_case(int64_t rows, int64_t in, int64_t out) { return LinearCase::make(types(), rows, in, out); }
};

TEST_P(CudaLinear, MatchesTheReferenceForAnyRows) {
  for (const int64_t rows : kEdges) {
    SCOPED_TRACE(rows);
    expect_forward(make_case(rows, 33, 17));
    expect_gradients(make_case(rows, 33, 17));
  }
}

TEST_P(CudaLinear, MatchesTheReferenceForAnyColumns) {
  for (const int64_t columns : kEdges) {
    SCOPED_TRACE(columns);
    expect_forward(make_case(3, columns, 19));
    expect_forward(make_case(5, 21, columns));
    expect_gradients(make_case(3, columns, 19));
    expect_gradients(make_case(5, 21, columns));
  }
}

TEST_P(CudaLinear, MatchesTheReferenceForAnyDepth) {
  for (const int64_t depth : kLinearDepths) {
    SCOPED_TRACE(depth);
    expect_forward(make_case(7, depth, 33));
    expect_gradients(make_case(7, 18, depth));
    expect_gradients(make_case(depth, 9, 18));
  }
}

TEST_P(CudaLinear, MatchesTheReferenceWithManyTiles) {
  expect_forward(make_case(150, 100, 270));
  expect_forward(make_case(130, 70, 100));
  expect_forward(make_case(3, 100, 270));
  expect_gradients(make_case(130, 100, 130));
  expect_gradients(make_case(150, 130, 270), 0.5);
}

// Large enough for the device's library.
TEST_P(CudaLinear, LargeProductsMatchTheReference) {
  LinearCase c = make_case(264, 256, 272);
  expect_gradients(c, 0.5);
  c.bias = {};
  const Guarded y(storage(), 264, 272), expected(DType::f64, 264, 272);
  cuda().linear({.x = c.x.view(), .weight = {c.weight.view()}, .y = y.view()});
  reference().linear({.x = c.x.view(), .weight = {c.weight.view()}, .y = expected.view()});
  EXPECT_TRUE(close(y, expected, stored()));
}

TEST_P(CudaLinear, EveryActivationWithDropoutMatchesTheReference) {
  for (const Activation activation : kActivations) {
    for (const float p : {0.0F, 0.25F}) {
      SCOPED_TRACE(fmt::format("activation {}, dropout {}", static_cast<int>(activation), p));
      LinearCase c = make_case(9, 40, 37);
      c.activation = activation;
      c.dropout = dropout_of(p);
      expect_forward(c);
    }
  }
}

TEST_P(CudaLinear, ActivationsOfExtremeValuesMatchTheReference) {
  const double extremes[] = {0.0, 1e-30, -1e-30, 5.5, -5.5, 11.0, -11.0, 90.0, -90.0, 1e4, -1e4, 1e9, -1e9};
  for (const Activation activation : kActivations) {
    SCOPED_TRACE(static_cast<int>(activation));
    LinearCase c = make_case(1, 1, std::ssize(extremes));
    c.activation = activation;
    c.x.set(0, 0, 0.0);
    for (int64_t i = 0; i < std::ssize(extremes); ++i) {
      c.bias.set(0, i, extremes[i]);
    }
    const auto saved = c.forward(cuda(), types());
    const auto expected = c.forward(reference(), kReferenceTypes);
    const double relative = storage() == DType::bf16 ? 0x1.1p-8 : 1e-5;
    for (int64_t i = 0; i < std::ssize(extremes); ++i) {
      SCOPED_TRACE(extremes[i]);
      EXPECT_NEAR(saved.y.get(0, i), expected.y.get(0, i), 1e-6 + relative * std::abs(expected.y.get(0, i)));
    }
  }
}

TEST_P(CudaLinear, OptionalOperandsMayBeMissing) {
  const LinearCase c = make_case(5, 21, 19);
  LinearCase without_bias = c;
  without_bias.bias = {};
  expect_forward(without_bias);
  const auto expected = c.forward(cuda(), types());
  const Guarded y(storage(), 5, 19);
  cuda().linear({.x = c.x.view(), .weight = {c.weight.view()}, .bias = c.bias.view(), .y = y.view()});
  EXPECT_TRUE(same_bits(y, expected.y));
  const Guarded d_weight(DType::f32, 19, 21), d_bias(DType::f32, 1, 19);
  cuda().linear_weight_gradient({.d_y = c.d_y.view(), .x = c.x.view(), .d_weight = d_weight.view()});
  EXPECT_TRUE(same_bits(d_weight, c.d_weight(cuda(), types()).d_weight));
}

TEST_P(CudaLinear, GradientsAddToFormerContents) {
  for (const int64_t depth : {17, 1100}) {
    SCOPED_TRACE(depth);
    const auto run = [&](Backend& backend, const LinearCase& c, Types result) {
      const Guarded d_x = random(storage(), c.x.rows(), c.x.columns(), 80);
      const Guarded x = converted(d_x, result.storage);
      const Guarded weight = random(result.master, c.weight.rows(), c.weight.columns(), 81);
      const Guarded bias = random(result.master, 1, c.weight.rows(), 82);
      backend.linear_input_gradient(
          {.d_y = c.d_y.view(), .weight = {c.weight.view()}, .d_x = x.view(), .write = Write::add, .scale = 0.125});
      backend.linear_weight_gradient({.d_y = c.d_y.view(),
                                      .x = c.x.view(),
                                      .d_weight = weight.view(),
                                      .d_bias = bias.view(),
                                      .write = Write::add,
                                      .scale = 0.125});
      return std::tuple(x, weight, bias);
    };
    for (const LinearCase& c : {make_case(6, 20, depth), make_case(depth, 20, 7)}) {
      const auto [x, weight, bias] = run(cuda(), c, types());
      const auto [expected_x, expected_weight, expected_bias] = run(reference(), c, kReferenceTypes);
      EXPECT_TRUE(close(x, expected_x, stored()));
      EXPECT_TRUE(close(weight, expected_weight, kF32));
      EXPECT_TRUE(close(bias, expected_bias, kF32));
    }
  }
}

TEST_P(CudaLinear, ARowIsTheSameBitsAloneAndAmongOthers) {
  for (const auto& [in, out] : std::vector<std::pair<int64_t, int64_t>>{{33, 17}, {65, 260}, {513, 40}}) {
    SCOPED_TRACE(fmt::format("{} to {}", in, out));
    LinearCase c = make_case(80, in, out);
    c.activation = Activation::gelu;
    c.dropout = dropout_of(0.25F);
    expect_same_rows(c, 80, [&](const LinearCase& part) { return part.forward(cuda(), types()).y; });
    expect_same_rows(c, 80, [&](const LinearCase& part) { return part.forward(cuda(), types()).before; });
    expect_same_rows(c, 80, [&](const LinearCase& part) { return part.d_x(cuda(), types()); });
  }
}

// Few rows, some more and many are multiplied by different kernels. Results in f32 show all bits of their sums.
TEST_P(CudaLinear, ARowInTheMasterTypeIsTheSameBitsAloneAndAmongOthers) {
  for (const auto& [in, out] : std::vector<std::pair<int64_t, int64_t>>{{1100, 33}, {200, 260}}) {
    SCOPED_TRACE(fmt::format("{} to {}", in, out));
    const LinearCase c = make_case(80, in, out);
    const auto packed = cuda().pack_matrix(c.weight.view());
    expect_same_rows(c, 80, [&](const LinearCase& part) {
      const Guarded y(DType::f32, part.x.rows(), part.weight.rows());
      cuda().linear({.x = part.x.view(), .weight = {{}, packed.get()}, .bias = part.bias.view(), .y = y.view()});
      return y;
    });
  }
}

TEST_P(CudaLinear, APackedWeightGivesTheSameBits) {
  for (const auto& [in, out] : std::vector<std::pair<int64_t, int64_t>>{{33, 17}, {65, 260}, {513, 40}}) {
    const LinearCase plain = make_case(13, in, out);
    const auto packed_weight = cuda().pack_matrix(plain.weight.view());
    LinearCase packed = plain;
    packed.packed = packed_weight.get();
    for (const int64_t rows : {1, 2, 4, 13}) {
      SCOPED_TRACE(fmt::format("{} rows, {} to {}", rows, in, out));
      EXPECT_TRUE(
          same_bits(packed.rows(0, rows).forward(cuda(), types()).y, plain.rows(0, rows).forward(cuda(), types()).y));
      EXPECT_TRUE(same_bits(packed.rows(0, rows).d_x(cuda(), types()), plain.rows(0, rows).d_x(cuda(), types())));
    }
  }
}

TEST_P(CudaLinear, WeightsInBf16GiveInputsInF32TheBitsOfWeightsInF32) {
  for (const int64_t rows : {1, 3, 70}) {
    SCOPED_TRACE(fmt::format("{} rows", rows));
    constexpr int64_t kIn = 300, kOut = 150;
    const Guarded narrow = converted(random(DType::f32, kOut, kIn, 2), DType::bf16);
    const Guarded wide = converted(narrow, DType::f32), x = random(DType::f32, rows, kIn, 3);
    const auto halves = cuda().pack({kOut, kIn}, {.weights = DType::bf16, .inputs = DType::f32},
                                    [&](int64_t first, int64_t count) { return wide.view().row_range(first, count); });
    const Guarded y(DType::f32, rows, kOut), expected(DType::f32, rows, kOut);
    cuda().linear({.x = x.view(), .weight = {{}, halves.get()}, .y = y.view()});
    cuda().linear({.x = x.view(), .weight = {wide.view(), nullptr}, .y = expected.view()});
    EXPECT_TRUE(same_bits(y, expected));
    EXPECT_EQ(halves->bytes(), kOut * round_up(kIn, int64_t{8}) * 2);
  }
}

// As when it is read from a file: in f32, a few rows at a time.
TEST_P(CudaLinear, PackingConvertsAndTakesNoMoreThanTheElementsOfItsFormat) {
  for (const auto& [in, out] : std::vector<std::pair<int64_t, int64_t>>{{33, 17}, {64, 96}, {300, 200}}) {
    SCOPED_TRACE(fmt::format("{} to {}", in, out));
    LinearCase plain = make_case(3, in, out);
    const Guarded exact = random(DType::f32, out, in, 2);
    plain.weight = converted(exact, storage());
    int64_t next = 0;
    const auto packed_weight = cuda().pack({out, in}, {storage(), storage()}, [&](int64_t first, int64_t count) {
      EXPECT_EQ(first, next);
      next += count;
      return exact.view().row_range(first, count);
    });
    EXPECT_EQ(next, out);
    LinearCase packed = plain;
    packed.weight = Guarded(storage(), out, in);  // not numbers: it is not read
    packed.packed = packed_weight.get();
    EXPECT_TRUE(same_bits(packed.forward(cuda(), types()).y, plain.forward(cuda(), types()).y));
    if (out % 32 == 0 && in % 8 == 0) {
      EXPECT_EQ(packed_weight->bytes(), in * out * size_of(storage()));
    }
  }
}

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

TEST_P(CudaLinear, OperandsOfTheDeviceMayBePartsOfWiderOnes) {
  for (const Layout layout : {Layout{5, 3}, Layout{8, 8}, Layout{6, 2}}) {
    for (const auto& [rows, in, out] : {std::tuple<int64_t, int64_t, int64_t>{5, 40, 24}, {70, 72, 80}, {70, 33, 17}}) {
      SCOPED_TRACE(fmt::format("{} rows, {} to {}, {} elements off", rows, in, out, layout.offset));
      LinearCase c = make_case(rows, in, out);
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

TEST_P(CudaLinear, AlignmentOfTheOperandsDoesNotMatter) {
  const LinearCase c = make_case(9, 65, 33);
  LinearCase elsewhere = c;
  elsewhere.x = clone(c.x, kTight);
  elsewhere.weight = clone(c.weight, {0, 1});
  elsewhere.bias = clone(c.bias, kTight);
  elsewhere.d_y = clone(c.d_y, {15, 15});
  EXPECT_TRUE(same_bits(elsewhere.forward(cuda(), types()).y, c.forward(cuda(), types()).y));
  EXPECT_TRUE(same_bits(elsewhere.d_x(cuda(), types()), c.d_x(cuda(), types())));
  EXPECT_TRUE(same_bits(elsewhere.d_weight(cuda(), types()).d_weight, c.d_weight(cuda(), types()).d_weight));
}

HEED_ON_CUDA(CudaLinear);

}  // namespace
}  // namespace heed::test
