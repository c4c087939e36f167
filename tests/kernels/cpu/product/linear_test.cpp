#include "kernels/cpu/cpu_testing.h"

namespace heed::test {
namespace {

class CpuLinear : public CpuTest {
 protected:
  void expect_forward(const LinearCase& c) {
    const auto actual = c.forward(cpu(), types());
    const auto expected = c.forward(reference(), kReferenceTypes);
    EXPECT_TRUE(close(actual.y, expected.y, stored()));
    EXPECT_TRUE(close(actual.before, expected.before, stored()));
  }
  void expect_gradients(const LinearCase& c, double scale = 1.0) {
    EXPECT_TRUE(close(c.d_x(cpu(), types(), scale), c.d_x(reference(), kReferenceTypes, scale), stored()));
    const auto actual = c.d_weight(cpu(), types(), scale);
    const auto expected = c.d_weight(reference(), kReferenceTypes, scale);
    EXPECT_TRUE(close(actual.d_weight, expected.d_weight, kF32));
    EXPECT_TRUE(close(actual.d_bias, expected.d_bias, kF32));
  }
  LinearCase make_case(int64_t rows, int64_t in, int64_t out) { return LinearCase::make(types(), rows, in, out); }
};

TEST_P(CpuLinear, MatchesTheReferenceForAnyRows) {
  for (const int64_t rows : kRows) {
    SCOPED_TRACE(rows);
    expect_forward(make_case(rows, 33, 17));
    expect_gradients(make_case(rows, 33, 17));
  }
}

TEST_P(CpuLinear, MatchesTheReferenceForAnyColumns) {
  for (const int64_t columns : kColumns) {
    SCOPED_TRACE(columns);
    expect_forward(make_case(3, columns, 19));
    expect_forward(make_case(5, 21, columns));
    expect_gradients(make_case(3, columns, 19));
    expect_gradients(make_case(5, 21, columns));
  }
}

TEST_P(CpuLinear, MatchesTheReferenceForAnyDepth) {
  for (const int64_t depth : kDepths) {
    SCOPED_TRACE(depth);
    expect_forward(make_case(7, depth, 33));
    expect_gradients(make_case(7, 18, depth));
    expect_gradients(make_case(depth, 9, 18));
  }
}

TEST_P(CpuLinear, MatchesTheReferenceWithManyTiles) {
  expect_forward(make_case(300, 600, 530));
  expect_gradients(make_case(300, 130, 530), 0.5);
}

TEST_P(CpuLinear, EveryActivationWithDropoutMatchesTheReference) {
  for (const Activation activation : kActivations) {
    for (const float p : {0.0F, 0.25F}) {
      SCOPED_TRACE(fmt::format("activation {}, dropout {}", static_cast<int>(activation), p));
      LinearCase c = make_case(9, 40, 37);
      c.activation = activation;
      c.dropout = dropout_of(p);
      expect_forward(c);
      const auto saved = c.forward(cpu(), types());
      EXPECT_TRUE(close(c.d_before(cpu(), saved, types()), c.d_before(reference(), saved, kReferenceTypes), stored()));
    }
  }
}

TEST_P(CpuLinear, ActivationsOfExtremeValuesMatchTheReference) {
  const double extremes[] = {0.0, 1e-30, -1e-30, 5.5, -5.5, 11.0, -11.0, 90.0, -90.0, 1e4, -1e4, 1e9, -1e9};
  for (const Activation activation : kActivations) {
    SCOPED_TRACE(static_cast<int>(activation));
    LinearCase c = make_case(1, 1, std::ssize(extremes));
    c.activation = activation;
    c.x.set(0, 0, 0.0);
    for (int64_t i = 0; i < std::ssize(extremes); ++i) {
      c.bias.set(0, i, extremes[i]);
    }
    const auto saved = c.forward(cpu(), types());
    const auto expected = c.forward(reference(), kReferenceTypes);
    const Guarded d = c.d_before(cpu(), saved, types()), expected_d = c.d_before(reference(), saved, kReferenceTypes);
    const double relative = storage() == DType::bf16 ? 0x1.1p-8 : 1e-5;
    for (int64_t i = 0; i < std::ssize(extremes); ++i) {
      SCOPED_TRACE(extremes[i]);
      EXPECT_NEAR(saved.y.get(0, i), expected.y.get(0, i), 1e-6 + relative * std::abs(expected.y.get(0, i)));
      EXPECT_NEAR(d.get(0, i), expected_d.get(0, i), 1e-5 + relative * std::abs(expected_d.get(0, i)));
    }
  }
}

TEST_P(CpuLinear, OptionalOperandsMayBeMissing) {
  const LinearCase c = make_case(5, 21, 19);
  LinearCase without_bias = c;
  without_bias.bias = {};
  expect_forward(without_bias);
  const auto expected = c.forward(cpu(), types());
  const Guarded y(storage(), 5, 19);
  cpu().linear({.x = c.x.view(), .weight = {c.weight.view()}, .bias = c.bias.view(), .y = y.view()});
  EXPECT_TRUE(same_bits(y, expected.y));
  const Guarded d_weight(DType::f32, 19, 21), d_bias(DType::f32, 1, 19);
  cpu().linear_weight_gradient({.d_y = c.d_y.view(), .x = c.x.view(), .d_weight = d_weight.view()});
  EXPECT_TRUE(same_bits(d_weight, c.d_weight(cpu(), types()).d_weight));
}

TEST_P(CpuLinear, GradientsAddToFormerContents) {
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
      const auto [x, weight, bias] = run(cpu(), c, types());
      const auto [expected_x, expected_weight, expected_bias] = run(reference(), c, kReferenceTypes);
      EXPECT_TRUE(close(x, expected_x, stored()));
      EXPECT_TRUE(close(weight, expected_weight, kF32));
      EXPECT_TRUE(close(bias, expected_bias, kF32));
    }
  }
}

TEST_P(CpuLinear, ActivationBackwardMayBeInPlace) {
  for (const Activation activation : kActivations) {
    LinearCase c = make_case(6, 20, 37);
    c.activation = activation;
    c.dropout = dropout_of(0.25F);
    const auto saved = c.forward(cpu(), types());
    const Guarded expected = c.d_before(cpu(), saved, types());
    const Guarded d = clone(c.d_y);
    cpu().activation_backward({.activation = activation,
                               .dropout = c.dropout,
                               .y = saved.y.view(),
                               .before = saved.before.view(),
                               .d_y = d.view(),
                               .d_before = d.view()});
    EXPECT_TRUE(same_bits(d, expected));
    EXPECT_TRUE(d.untouched());
  }
}

TEST_P(CpuLinear, ARowIsTheSameBitsAloneAndAmongOthers) {
  for (const auto& [in, out] : std::vector<std::pair<int64_t, int64_t>>{{33, 17}, {65, 257}, {513, 40}, {1100, 33}}) {
    SCOPED_TRACE(fmt::format("{} to {}", in, out));
    LinearCase c = make_case(300, in, out);
    c.activation = Activation::gelu;
    c.dropout = dropout_of(0.25F);
    expect_same_rows(c, 300, [&](const LinearCase& part) { return part.forward(cpu(), types()).y; });
    expect_same_rows(c, 300, [&](const LinearCase& part) { return part.forward(cpu(), types()).before; });
    expect_same_rows(c, 300, [&](const LinearCase& part) { return part.d_x(cpu(), types()); });
    expect_same_rows(
        c, 300, [&](const LinearCase& part) { return part.d_before(cpu(), part.forward(cpu(), types()), types()); });
  }
}

TEST_P(CpuLinear, APackedWeightGivesTheSameBits) {
  for (const auto& [in, out] : std::vector<std::pair<int64_t, int64_t>>{{33, 17}, {65, 257}, {513, 40}, {1100, 33}}) {
    const LinearCase plain = make_case(13, in, out);
    const auto packed_weight = cpu().pack_matrix(plain.weight.view());
    LinearCase packed = plain;
    packed.packed = packed_weight.get();
    for (const int64_t rows : {1, 2, 4, 13}) {
      SCOPED_TRACE(fmt::format("{} rows, {} to {}", rows, in, out));
      EXPECT_TRUE(
          same_bits(packed.rows(0, rows).forward(cpu(), types()).y, plain.rows(0, rows).forward(cpu(), types()).y));
      EXPECT_TRUE(same_bits(packed.rows(0, rows).d_x(cpu(), types()), plain.rows(0, rows).d_x(cpu(), types())));
    }
  }
}

TEST_P(CpuLinear, WeightsInBf16GiveInputsInF32TheBitsOfWeightsInF32) {
  for (const int64_t rows : {1, 3, 70}) {
    SCOPED_TRACE(fmt::format("{} rows", rows));
    constexpr int64_t kIn = 1100, kOut = 1952;
    const Guarded narrow = converted(random(DType::f32, kOut, kIn, 2), DType::bf16);
    const Guarded wide = converted(narrow, DType::f32), x = random(DType::f32, rows, kIn, 3);
    const auto halves = cpu().pack({kOut, kIn}, {.weights = DType::bf16, .inputs = DType::f32},
                                   [&](int64_t first, int64_t count) { return wide.view().row_range(first, count); });
    const Guarded y(DType::f32, rows, kOut), expected(DType::f32, rows, kOut);
    cpu().linear({.x = x.view(), .weight = {{}, halves.get()}, .y = y.view()});
    cpu().linear({.x = x.view(), .weight = {wide.view(), nullptr}, .y = expected.view()});
    EXPECT_TRUE(same_bits(y, expected));
    EXPECT_EQ(halves->bytes(), kOut * kIn * 2);
  }
}

// As when it is read from a file: in f32, a few rows at a time.
TEST_P(CpuLinear, PackingConvertsAndTakesNoMoreThanTheElementsOfItsFormat) {
  for (const auto& [in, out] : std::vector<std::pair<int64_t, int64_t>>{{33, 17}, {64, 96}, {1100, 1952}}) {
    SCOPED_TRACE(fmt::format("{} to {}", in, out));
    LinearCase plain = make_case(3, in, out);
    const Guarded exact = random(DType::f32, out, in, 2);
    plain.weight = converted(exact, storage());
    int64_t next = 0;
    const auto packed_weight = cpu().pack({out, in}, {storage(), storage()}, [&](int64_t first, int64_t count) {
      EXPECT_EQ(first, next);
      next += count;
      return exact.view().row_range(first, count);
    });
    EXPECT_EQ(next, out);
    LinearCase packed = plain;
    packed.weight = Guarded(storage(), out, in);  // not numbers: it is not read
    packed.packed = packed_weight.get();
    EXPECT_TRUE(same_bits(packed.forward(cpu(), types()).y, plain.forward(cpu(), types()).y));
    if (out % 32 == 0 && in % 2 == 0) {
      EXPECT_EQ(packed_weight->bytes(), in * out * size_of(storage()));
    }
  }
}

TEST_P(CpuLinear, AlignmentOfTheOperandsDoesNotMatter) {
  const LinearCase c = make_case(9, 65, 33);
  LinearCase elsewhere = c;
  elsewhere.x = clone(c.x, kTight);
  elsewhere.weight = clone(c.weight, {0, 1});
  elsewhere.bias = clone(c.bias, kTight);
  elsewhere.d_y = clone(c.d_y, {15, 15});
  EXPECT_TRUE(same_bits(elsewhere.forward(cpu(), types()).y, c.forward(cpu(), types()).y));
  EXPECT_TRUE(same_bits(elsewhere.d_x(cpu(), types()), c.d_x(cpu(), types())));
  EXPECT_TRUE(same_bits(elsewhere.d_weight(cpu(), types()).d_weight, c.d_weight(cpu(), types()).d_weight));
}

HEED_ON_EVERY_PRODUCT(CpuLinear);

}  // namespace
}  // namespace heed::test
