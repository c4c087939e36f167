#include "backends/backend_test.h"

namespace heed::test {
namespace {

// Around the edges of tiles and of their parts, and of slices along k.
const std::vector<int64_t> kTileEdges{1, 2, 7, 8, 9, 16, 17, 31, 33, 63, 64, 65, 130};
const std::vector<int64_t> kSliceEdges{1, 3, 15, 16, 17, 31, 32, 33, 64, 65, 511, 513, 1100};

class BackendLinear : public BackendTest {
 protected:
  void expect_forward(const LinearCase& c) {
    const auto actual = c.forward(backend(), types());
    const auto expected = c.forward(reference(), kReferenceTypes);
    EXPECT_TRUE(close(actual.y, expected.y, stored()));
    EXPECT_TRUE(close(actual.before, expected.before, stored()));
  }
  void expect_gradients(const LinearCase& c, double scale = 1.0) {
    EXPECT_TRUE(close(c.d_x(backend(), types(), scale), c.d_x(reference(), kReferenceTypes, scale), stored()));
    const auto actual = c.d_weight(backend(), types(), scale);
    const auto expected = c.d_weight(reference(), kReferenceTypes, scale);
    EXPECT_TRUE(close(actual.d_weight, expected.d_weight, kF32));
    EXPECT_TRUE(close(actual.d_bias, expected.d_bias, kF32));
  }
  LinearCase make_case(int64_t rows, int64_t in, int64_t out) { return LinearCase::make(types(), rows, in, out); }
};

TEST_P(BackendLinear, MatchesTheReferenceForAnyRows) {
  for (const int64_t rows : sizes({.cpu = kRows, .cuda = kTileEdges})) {
    SCOPED_TRACE(rows);
    expect_forward(make_case(rows, 33, 17));
    expect_gradients(make_case(rows, 33, 17));
  }
}

TEST_P(BackendLinear, MatchesTheReferenceForAnyColumns) {
  for (const int64_t columns : sizes({.cpu = kColumns, .cuda = kTileEdges})) {
    SCOPED_TRACE(columns);
    expect_forward(make_case(3, columns, 19));
    expect_forward(make_case(5, 21, columns));
    expect_gradients(make_case(3, columns, 19));
    expect_gradients(make_case(5, 21, columns));
  }
}

TEST_P(BackendLinear, MatchesTheReferenceForAnyDepth) {
  for (const int64_t depth : sizes({.cpu = kDepths, .cuda = kSliceEdges})) {
    SCOPED_TRACE(depth);
    expect_forward(make_case(7, depth, 33));
    expect_gradients(make_case(7, 18, depth));
    expect_gradients(make_case(depth, 9, 18));
  }
}

TEST_P(BackendLinear, MatchesTheReferenceWithManyTiles) {
  struct Product {
    int64_t rows, in, out;
  };
  for (const auto& [rows, in, out] :
       here<std::vector<Product>>({{300, 600, 530}}, {{150, 100, 270}, {130, 70, 100}, {3, 100, 270}})) {
    expect_forward(make_case(rows, in, out));
  }
  for (const auto& [rows, in, out] :
       here<std::vector<Product>>({{300, 130, 530}}, {{130, 100, 130}, {150, 130, 270}})) {
    expect_gradients(make_case(rows, in, out), 0.5);
  }
}

// Large enough for a GPU's library.
TEST_P(BackendLinear, LargeProductsMatchTheReference) {
  LinearCase c = make_case(264, 256, 272);
  expect_gradients(c, 0.5);
  c.bias = {};
  const Guarded y(storage(), 264, 272), expected(DType::f64, 264, 272);
  backend().linear({.x = c.x.view(), .weight = {c.weight.view()}, .y = y.view()});
  reference().linear({.x = c.x.view(), .weight = {c.weight.view()}, .y = expected.view()});
  EXPECT_TRUE(close(y, expected, stored()));
}

TEST_P(BackendLinear, EveryActivationWithDropoutMatchesTheReference) {
  for (const Activation activation : kActivations) {
    for (const float p : {0.0F, 0.25F}) {
      SCOPED_TRACE(fmt::format("activation {}, dropout {}", static_cast<int>(activation), p));
      LinearCase c = make_case(9, 40, 37);
      c.activation = activation;
      c.dropout = dropout_of(p);
      expect_forward(c);
      const auto saved = c.forward(backend(), types());
      EXPECT_TRUE(
          close(c.d_before(backend(), saved, types()), c.d_before(reference(), saved, kReferenceTypes), stored()));
    }
  }
}

TEST_P(BackendLinear, ActivationsOfExtremeValuesMatchTheReference) {
  const double extremes[] = {0.0, 1e-30, -1e-30, 5.5, -5.5, 11.0, -11.0, 90.0, -90.0, 1e4, -1e4, 1e9, -1e9};
  for (const Activation activation : kActivations) {
    SCOPED_TRACE(static_cast<int>(activation));
    LinearCase c = make_case(1, 1, std::ssize(extremes));
    c.activation = activation;
    c.x.set(0, 0, 0.0);
    for (int64_t i = 0; i < std::ssize(extremes); ++i) {
      c.bias.set(0, i, extremes[i]);
    }
    const auto saved = c.forward(backend(), types());
    const auto expected = c.forward(reference(), kReferenceTypes);
    const Guarded d = c.d_before(backend(), saved, types()),
                  expected_d = c.d_before(reference(), saved, kReferenceTypes);
    const double relative = storage() == DType::bf16 ? 0x1.1p-8 : 1e-5;
    for (int64_t i = 0; i < std::ssize(extremes); ++i) {
      SCOPED_TRACE(extremes[i]);
      EXPECT_NEAR(saved.y.get(0, i), expected.y.get(0, i), 1e-6 + relative * std::abs(expected.y.get(0, i)));
      EXPECT_NEAR(d.get(0, i), expected_d.get(0, i), 1e-5 + relative * std::abs(expected_d.get(0, i)));
    }
  }
}

TEST_P(BackendLinear, OptionalOperandsMayBeMissing) {
  const LinearCase c = make_case(5, 21, 19);
  LinearCase without_bias = c;
  without_bias.bias = {};
  expect_forward(without_bias);
  const auto expected = c.forward(backend(), types());
  const Guarded y(storage(), 5, 19);
  backend().linear({.x = c.x.view(), .weight = {c.weight.view()}, .bias = c.bias.view(), .y = y.view()});
  EXPECT_TRUE(same_bits(y, expected.y));
  const Guarded d_weight(DType::f32, 19, 21), d_bias(DType::f32, 1, 19);
  backend().linear_weight_gradient({.d_y = c.d_y.view(), .x = c.x.view(), .d_weight = d_weight.view()});
  EXPECT_TRUE(same_bits(d_weight, c.d_weight(backend(), types()).d_weight));
}

TEST_P(BackendLinear, GradientsAddToFormerContents) {
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
    // The last ones are large enough for a GPU's library.
    for (const LinearCase& c :
         {make_case(6, 20, depth), make_case(depth, 20, 7), make_case(264, 256, depth == 17 ? 256 : 8)}) {
      const auto [x, weight, bias] = run(backend(), c, types());
      const auto [expected_x, expected_weight, expected_bias] = run(reference(), c, kReferenceTypes);
      EXPECT_TRUE(close(x, expected_x, stored()));
      EXPECT_TRUE(close(weight, expected_weight, kF32));
      EXPECT_TRUE(close(bias, expected_bias, kF32));
    }
  }
}

TEST_P(BackendLinear, ActivationBackwardMayBeInPlace) {
  for (const Activation activation : kActivations) {
    LinearCase c = make_case(6, 20, 37);
    c.activation = activation;
    c.dropout = dropout_of(0.25F);
    const auto saved = c.forward(backend(), types());
    const Guarded expected = c.d_before(backend(), saved, types());
    const Guarded d = clone(c.d_y);
    backend().activation_backward({.activation = activation,
                                   .dropout = c.dropout,
                                   .y = saved.y.view(),
                                   .before = saved.before.view(),
                                   .d_y = d.view(),
                                   .d_before = d.view()});
    EXPECT_TRUE(same_bits(d, expected));
    EXPECT_TRUE(d.untouched());
  }
}

// The inputs and outputs of weights.
const Shapes kWeights{.cpu = {{33, 17}, {65, 257}, {513, 40}, {1100, 33}}, .cuda = {{33, 17}, {65, 260}, {513, 40}}};

TEST_P(BackendLinear, ARowIsTheSameBitsAloneAndAmongOthers) {
  const int64_t rows = here(300, 80);
  for (const auto& [in, out] : shapes(kWeights)) {
    SCOPED_TRACE(fmt::format("{} to {}", in, out));
    LinearCase c = make_case(rows, in, out);
    c.activation = Activation::gelu;
    c.dropout = dropout_of(0.25F);
    expect_same_rows(c, rows, [&](const LinearCase& part) { return part.forward(backend(), types()).y; });
    expect_same_rows(c, rows, [&](const LinearCase& part) { return part.forward(backend(), types()).before; });
    expect_same_rows(c, rows, [&](const LinearCase& part) { return part.d_x(backend(), types()); });
    expect_same_rows(c, rows, [&](const LinearCase& part) {
      return part.d_before(backend(), part.forward(backend(), types()), types());
    });
  }
}

// Few rows, some more and many are multiplied by different kernels. Results in f32 show all bits of their sums.
TEST_P(BackendLinear, ARowInTheMasterTypeIsTheSameBitsAloneAndAmongOthers) {
  for (const auto& [in, out] : std::vector<std::pair<int64_t, int64_t>>{{1100, 33}, {200, 260}}) {
    SCOPED_TRACE(fmt::format("{} to {}", in, out));
    const LinearCase c = make_case(80, in, out);
    const auto packed = backend().pack_matrix(c.weight.view());
    expect_same_rows(c, 80, [&](const LinearCase& part) {
      const Guarded y(DType::f32, part.x.rows(), part.weight.rows());
      backend().linear({.x = part.x.view(), .weight = {{}, packed.get()}, .bias = part.bias.view(), .y = y.view()});
      return y;
    });
  }
}

TEST_P(BackendLinear, APackedWeightGivesTheSameBits) {
  for (const auto& [in, out] : shapes(kWeights)) {
    const LinearCase plain = make_case(13, in, out);
    const auto packed_weight = backend().pack_matrix(plain.weight.view());
    LinearCase packed = plain;
    packed.packed = packed_weight.get();
    for (const int64_t rows : {1, 2, 4, 13}) {
      SCOPED_TRACE(fmt::format("{} rows, {} to {}", rows, in, out));
      EXPECT_TRUE(same_bits(packed.rows(0, rows).forward(backend(), types()).y,
                            plain.rows(0, rows).forward(backend(), types()).y));
      EXPECT_TRUE(same_bits(packed.rows(0, rows).d_x(backend(), types()), plain.rows(0, rows).d_x(backend(), types())));
    }
  }
}

TEST_P(BackendLinear, WeightsInBf16GiveInputsInF32TheBitsOfWeightsInF32) {
  const auto [in, out] = here<std::pair<int64_t, int64_t>>({1100, 1952}, {300, 150});
  for (const int64_t rows : {1, 3, 70}) {
    SCOPED_TRACE(fmt::format("{} rows", rows));
    const Guarded narrow = converted(random(DType::f32, out, in, 2), DType::bf16);
    const Guarded wide = converted(narrow, DType::f32), x = random(DType::f32, rows, in, 3);
    const auto halves =
        backend().pack({out, in}, {.weights = DType::bf16, .inputs = DType::f32},
                       [&](int64_t first, int64_t count) { return wide.view().row_range(first, count); });
    const Guarded y(DType::f32, rows, out), expected(DType::f32, rows, out);
    backend().linear({.x = x.view(), .weight = {{}, halves.get()}, .y = y.view()});
    backend().linear({.x = x.view(), .weight = {wide.view(), nullptr}, .y = expected.view()});
    EXPECT_TRUE(same_bits(y, expected));
    EXPECT_EQ(halves->bytes(), out * here(in, round_up(in, int64_t{8})) * 2);
  }
}

// As when it is read from a file: in f32, a few rows at a time.
TEST_P(BackendLinear, PackingConvertsAndTakesNoMoreThanTheElementsOfItsFormat) {
  for (const auto& [in, out] :
       shapes({.cpu = {{33, 17}, {64, 96}, {1100, 1952}}, .cuda = {{33, 17}, {64, 96}, {300, 200}}})) {
    SCOPED_TRACE(fmt::format("{} to {}", in, out));
    LinearCase plain = make_case(3, in, out);
    const Guarded exact = random(DType::f32, out, in, 2);
    plain.weight = converted(exact, storage());
    int64_t next = 0;
    const auto packed_weight = backend().pack({out, in}, {storage(), storage()}, [&](int64_t first, int64_t count) {
      EXPECT_EQ(first, next);
      next += count;
      return exact.view().row_range(first, count);
    });
    EXPECT_EQ(next, out);
    LinearCase packed = plain;
    packed.weight = Guarded(storage(), out, in);  // not numbers: it is not read
    packed.packed = packed_weight.get();
    EXPECT_TRUE(same_bits(packed.forward(backend(), types()).y, plain.forward(backend(), types()).y));
    if (out % 32 == 0 && in % here(2, 8) == 0) {
      EXPECT_EQ(packed_weight->bytes(), in * out * size_of(storage()));
    }
  }
}

TEST_P(BackendLinear, AlignmentOfTheOperandsDoesNotMatter) {
  const LinearCase c = make_case(9, 65, 33);
  LinearCase elsewhere = c;
  elsewhere.x = clone(c.x, kTight);
  elsewhere.weight = clone(c.weight, {0, 1});
  elsewhere.bias = clone(c.bias, kTight);
  elsewhere.d_y = clone(c.d_y, {15, 15});
  EXPECT_TRUE(same_bits(elsewhere.forward(backend(), types()).y, c.forward(backend(), types()).y));
  EXPECT_TRUE(same_bits(elsewhere.d_x(backend(), types()), c.d_x(backend(), types())));
  EXPECT_TRUE(same_bits(elsewhere.d_weight(backend(), types()).d_weight, c.d_weight(backend(), types()).d_weight));
}

HEED_IN_EACH_SETTING(BackendLinear, products);

}  // namespace
}  // namespace heed::test
