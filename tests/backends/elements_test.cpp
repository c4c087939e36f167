// What is done to each element of a matrix: fills, copies, sums, activations, gates, dropout, caps.
#include <limits>

#include "backends/backend_test.h"

namespace heed::test {
namespace {

class BackendElements : public BackendTest {
 protected:
  // Calls change(backend, operand) on copies of what is stored.
  template <class Change>
  void expect_changed_alike(const Guarded& start, Tolerance tolerance, Change&& change) {
    const Guarded actual = clone(start), expected = converted(start, DType::f64);
    change(backend(), actual);
    change(reference(), expected);
    EXPECT_TRUE(close(actual, expected, tolerance));
  }
};

TEST_P(BackendElements, FillWritesExactlyTheElements) {
  for (const DType type : here<std::vector<DType>>({DType::f32, DType::bf16},
                                                   {DType::f64, DType::f32, DType::bf16, DType::i32, DType::i8})) {
    for (const int64_t columns : sizes({.cpu = kColumns, .cuda = {1, 31, 257}})) {
      for (const double value : {0.0, 3.0, -1.0}) {
        const Guarded x(type, 5, columns), expected(DType::f64, 5, columns);
        backend().fill(x.view(), value);
        reference().fill(expected.view(), value);
        EXPECT_TRUE(close(x, expected, {}));
      }
    }
  }
}

TEST_P(BackendElements, CopyConverts) {
  with_each_layout([&] {
    for (const int64_t columns : sizes(kRowLengths)) {
      for (const DType from : {DType::f32, DType::bf16}) {
        SCOPED_TRACE(columns);
        const Guarded x = random(from, 5, columns, 61, 1.0, {1, 1});
        if (columns > 2) {
          x.set(0, 0, std::numeric_limits<double>::infinity());
          x.set(1, 1, 3.3e38);
          x.set(2, 2, -0.0);
          x.set(3, 0, 0x1.01p0);  // half way between two bf16: down to the even one, and up to it
          x.set(4, 0, 0x1.03p0);
        }
        const Guarded y(storage(), 5, columns);
        backend().copy(x.view(), y.view());
        EXPECT_TRUE(same_bits(y, converted(x, storage())));
        EXPECT_TRUE(y.untouched());
      }
    }
  });
}

TEST_P(BackendElements, CopyKeepsNaN) {
  with_each_layout([&] {
    for (const DType from : {DType::f32, DType::bf16}) {
      const Guarded x(from, 2, 33), y(storage(), 2, 33);  // all 0xff: NaN
      backend().fill(y.view(), 0.0);
      backend().copy(x.view(), y.view());
      EXPECT_TRUE(std::isnan(y.get(0, 0)) && std::isnan(y.get(1, 32)));
    }
  });
}

TEST_P(BackendElements, AddScaleAndBlendMatchTheReference) {
  with_each_layout([&] {
    for (const int64_t columns : sizes(kRowLengths)) {
      SCOPED_TRACE(columns);
      const Guarded x = random(storage(), 5, columns, 62), start = random(storage(), 5, columns, 63, 1.0, {0, 2});
      expect_changed_alike(start, stored(), [&](Backend& b, const Guarded& y) { b.add(x.view(), y.view()); });
      expect_changed_alike(start, stored(), [&](Backend& b, const Guarded& y) { b.scale(y.view(), -0.3); });
      const Guarded from = random(DType::f32, 2, columns, 67), to = random(DType::f32, 2, columns, 68);
      expect_changed_alike(to, kF32, [&](Backend& b, const Guarded& y) { b.blend(from.view(), y.view(), 0.25); });
    }
  });
}

TEST_P(BackendElements, BlendMovesTowardsTheOther) {
  const Guarded from = random(DType::f32, 1, 9, 67), to = random(DType::f32, 1, 9, 68), start = clone(to);
  backend().blend(from.view(), to.view(), 0.25);
  EXPECT_NEAR(to.get(0, 0), 0.75 * start.get(0, 0) + 0.25 * from.get(0, 0), 1e-6);
}

TEST_P(BackendElements, ActivationsGradientsMatchTheReference) {
  with_each_layout([&] {
    for (const Activation activation : kActivations) {
      for (const float p : {0.0F, 0.25F}) {
        for (const int64_t columns : {1, 8, 9, 37}) {
          SCOPED_TRACE(fmt::format("activation {}, dropout {}, {} columns", static_cast<int>(activation), p, columns));
          LinearCase c = LinearCase::make(types(), 5, 3, columns);
          c.activation = activation;
          c.dropout = dropout_of(p);
          const auto saved = c.forward(backend(), types());
          EXPECT_TRUE(
              close(c.d_before(backend(), saved, types()), c.d_before(reference(), saved, kReferenceTypes), stored()));
        }
      }
    }
  });
}

HEED_IN_EACH_SETTING(BackendElements, any_call);

class BackendGate : public BackendTest {
 protected:
  void expect_same(const GateCase& c) {
    EXPECT_TRUE(close(c.forward(backend(), types()), c.forward(reference(), kReferenceTypes), stored()));
    EXPECT_TRUE(close(c.backward(backend(), types()), c.backward(reference(), kReferenceTypes), stored()));
  }
};

TEST_P(BackendGate, MatchesTheReference) {
  with_each_layout([&] {
    for (const Activation activation : kActivations) {
      for (const float p : {0.0F, 0.25F}) {
        SCOPED_TRACE(fmt::format("activation {}, dropout {}", static_cast<int>(activation), p));
        GateCase c = GateCase::make(types(), activation, 6, 37);
        c.dropout = dropout_of(p);
        expect_same(c);
      }
    }
    for (const int64_t columns : sizes(kRowLengths)) {
      SCOPED_TRACE(columns);
      expect_same(GateCase::make(types(), Activation::silu, 5, columns));
    }
    for (const int64_t rows : sizes({.cpu = kRows, .cuda = {1, 70}})) {
      SCOPED_TRACE(rows);
      expect_same(GateCase::make(types(), Activation::gelu_tanh, rows, 33));
    }
  });
}

TEST_P(BackendGate, ARowIsTheSameBitsAloneAndAmongOthers) {
  const int64_t rows = here(300, 44);
  GateCase c = GateCase::make(types(), Activation::silu, rows, 65);
  c.dropout = dropout_of(0.25F);
  expect_same_rows(c, rows, [&](const GateCase& part) { return part.forward(backend(), types()); });
  expect_same_rows(c, rows, [&](const GateCase& part) { return part.backward(backend(), types()); });
}

HEED_IN_EACH_SETTING(BackendGate, any_call);

class BackendDropout : public BackendTest {};

// On the CPU so many values that some of their draws are the threshold itself, and its neighbours.
TEST_P(BackendDropout, DropsExactlyTheValuesThatTheCounterSelects) {
  const int64_t rows = here(700, 70), columns = here(1001, 101);
  with_each_layout([&] {
    for (const uint32_t first_column : {0U, 48U}) {
      Dropout dropout = dropout_of(0.3F);
      dropout.first_column = first_column;
      const Guarded ones(storage(), rows, columns), factors(storage(), rows, columns);
      backend().fill(ones.view(), 1.0);
      backend().activation_backward(
          {.activation = Activation::none, .dropout = dropout, .d_y = ones.view(), .d_before = factors.view()});
      int64_t wrong = 0;
      for (int64_t r = 0; r < rows; ++r) {
        const RowRandom row = dropout.row(r);
        for (int64_t c = 0; c < columns; ++c) {
          const double factor = factors.get(r, c),
                       expected = static_cast<double>(dropout.factor(row, static_cast<uint32_t>(c)));
          wrong += (factor == 0.0) == (expected == 0.0) && std::abs(factor - expected) < 0.01 ? 0 : 1;
        }
      }
      EXPECT_EQ(wrong, 0);
      backend().drop({ones.view(), dropout});
      EXPECT_TRUE(same_bits(ones, factors));
      EXPECT_TRUE(ones.untouched());
    }
  });
}

TEST_P(BackendDropout, AloneInPlaceDropsWhatOtherOpsDrop) {
  const Dropout dropout = dropout_of(0.3F);
  const Guarded x = random(storage(), 9, 65, 22), factors(storage(), 9, 65);
  const Guarded y = clone(x);
  backend().drop({y.view(), dropout});
  backend().activation_backward(
      {.activation = Activation::none, .dropout = dropout, .d_y = x.view(), .d_before = factors.view()});
  EXPECT_TRUE(same_bits(y, factors));
  EXPECT_TRUE(y.untouched());
}

HEED_IN_EACH_SETTING(BackendDropout, any_call);

class BackendSoftCap : public BackendTest {};

TEST_P(BackendSoftCap, MatchesTheReference) {
  with_each_layout([&] {
    for (const int64_t columns : sizes(kRowLengths)) {
      for (const double cap : {0.5, 30.0}) {
        SCOPED_TRACE(fmt::format("{} columns, cap {}", columns, cap));
        const Guarded x = random(storage(), 5, columns, 23, 20.0), d_y = random(storage(), 5, columns, 24);
        const auto run = [&](Backend& backend, DType type) {
          const Guarded y = converted(x, type);
          backend.soft_cap({y.view(), cap});
          return y;
        };
        const Guarded y = run(backend(), storage());
        EXPECT_TRUE(close(y, run(reference(), DType::f64), stored()));
        const Guarded d_x = clone(d_y), expected = converted(d_y, DType::f64);
        backend().soft_cap_backward({y.view(), d_x.view(), cap});
        reference().soft_cap_backward({y.view(), expected.view(), cap});
        EXPECT_TRUE(close(d_x, expected, stored()));
      }
    }
  });
}

TEST_P(BackendSoftCap, KeepsWhatIsNotANumber) {
  const Guarded x = random(storage(), 1, 20, 25);
  x.set(0, 3, std::nan(""));
  backend().soft_cap({x.view(), 30.0});
  EXPECT_TRUE(std::isnan(x.get(0, 3)));
  EXPECT_FALSE(std::isnan(x.get(0, 4)));
}

HEED_IN_EACH_SETTING(BackendSoftCap, any_call);

}  // namespace
}  // namespace heed::test
