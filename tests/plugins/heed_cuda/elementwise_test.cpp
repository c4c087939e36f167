#include <limits>

#include "plugins/heed_cuda/cuda_testing.h"

namespace heed::test {
namespace {

constexpr DType kAllTypes[] = {DType::f64, DType::f32, DType::bf16, DType::i32, DType::i8};
constexpr Activation kCudaActivations[] = {Activation::none,      Activation::relu, Activation::gelu,
                                           Activation::gelu_tanh, Activation::silu, Activation::tanh};

class CudaElementwise : public CudaTest {
 protected:
  // Calls change(backend, operand) on copies of what is stored.
  template <class Change>
  void expect_changed_alike(const Guarded& start, Tolerance tolerance, Change&& change) {
    const Guarded actual = clone(start), expected = converted(start, DType::f64);
    change(cuda(), actual);
    change(reference(), expected);
    EXPECT_TRUE(close(actual, expected, tolerance));
  }
  Tensor on_device(const Guarded& from) {
    Tensor to = cuda().keep({from.rows(), from.columns()}, from.type());
    cuda().copy(from.view(), to.view());
    return to;
  }
};
HEED_ON_CUDA(CudaElementwise);

TEST_P(CudaElementwise, FillsEveryElement) {
  for (const DType type : kAllTypes) {
    for (const int64_t columns : {1, 31, 257}) {
      for (const double value : {0.0, 3.0, -1.0}) {
        const Guarded x(type, 5, columns), expected(DType::f64, 5, columns);
        cuda().fill(x.view(), value);
        reference().fill(expected.view(), value);
        EXPECT_TRUE(close(x, expected, {}));
      }
    }
  }
  const Guarded x(storage(), 3, 5);
  const Tensor device = cuda().keep({3, 5}, storage());
  cuda().fill(device.view(), 1.5);
  cuda().fill(device.view().column_range(1, 3), 0.0);
  cuda().fill(device.view().row_range(2, 1), 0.0);
  cuda().copy(device.view(), x.view());
  EXPECT_EQ(x.get(1, 0), 1.5);
  EXPECT_EQ(x.get(1, 1), 0.0);
  EXPECT_EQ(x.get(1, 4), 1.5);
  EXPECT_EQ(x.get(2, 4), 0.0);
}

TEST_P(CudaElementwise, CopyConverts) {
  with_each_layout([&] {
    for (const int64_t columns : kPackColumns) {
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
        cuda().copy(x.view(), y.view());
        EXPECT_TRUE(same_bits(y, converted(x, storage())));
        EXPECT_TRUE(y.untouched());
      }
    }
    for (const DType from : {DType::f32, DType::bf16}) {
      const Guarded x(from, 2, 33), y(storage(), 2, 33);  // all 0xff: NaN
      cuda().fill(y.view(), 0.0);
      cuda().copy(x.view(), y.view());
      EXPECT_TRUE(std::isnan(y.get(0, 0)) && std::isnan(y.get(1, 32)));
    }
  });
}

TEST_P(CudaElementwise, CopyConvertsBetweenAllTypes) {
  for (const DType from : kAllTypes) {
    for (const DType to : kAllTypes) {
      SCOPED_TRACE(fmt::format("{} to {}", name_of(from), name_of(to)));
      const Guarded x(from, 3, 5), y(to, 3, 5);
      for (int64_t i = 0; i < 15; ++i) {
        x.set(i / 5, i % 5, static_cast<double>(i - 7));
      }
      cuda().copy(x.view(), y.view());
      EXPECT_TRUE(close(y, converted(x, DType::f64), {}));
    }
  }
}

TEST_P(CudaElementwise, CopiesGoToTheDeviceWithinItAndBack) {
  for (const DType type : kAllTypes) {
    const Guarded x(type, 5, 12), y(type, 5, 12), wide(DType::f64, 5, 12);
    for (int64_t i = 0; i < 60; ++i) {
      x.set(i / 12, i % 12, static_cast<double>(i - 20));
    }
    const Tensor first = on_device(x), second = cuda().keep({7, 20}, type);
    const View part = second.view().row_range(1, 5).column_range(3, 12);
    cuda().copy(first.view(), part);
    cuda().copy(part, y.view());
    EXPECT_TRUE(same_bits(y, x));
    EXPECT_TRUE(y.untouched());
    const Guarded all(type, 7, 20);
    cuda().copy(second.view(), all.view());
    EXPECT_EQ(all.get(1, 2), 0.0);
    EXPECT_EQ(all.get(1, 15), 0.0);
    cuda().copy(part, wide.view());  // of another type: converted on its way
    EXPECT_TRUE(close(wide, converted(x, DType::f64), {}));
  }
}

TEST_P(CudaElementwise, AddScaleAndBlendMatchTheReference) {
  with_each_layout([&] {
    for (const int64_t columns : kPackColumns) {
      SCOPED_TRACE(columns);
      const Guarded x = random(storage(), 5, columns, 62), start = random(storage(), 5, columns, 63, 1.0, {0, 2});
      expect_changed_alike(start, stored(), [&](Backend& b, const Guarded& y) { b.add(x.view(), y.view()); });
      expect_changed_alike(start, stored(), [&](Backend& b, const Guarded& y) { b.scale(y.view(), -0.3); });
      const Guarded from = random(DType::f32, 2, columns, 67), to = random(DType::f32, 2, columns, 68);
      expect_changed_alike(to, kF32, [&](Backend& b, const Guarded& y) { b.blend(from.view(), y.view(), 0.25); });
    }
  });
}

TEST_P(CudaElementwise, SumsOfPartsAreRoundedOnce) {
  with_each_layout([&] {
    for (const int64_t columns : kPackColumns) {
      for (const int count : {1, 2, 5}) {
        SCOPED_TRACE(fmt::format("{} parts of {} columns", count, columns));
        std::vector<Guarded> parts;
        std::vector<ConstView> views;
        for (int k = 0; k < count; ++k) {
          parts.push_back(random(storage(), 4, columns, 70 + static_cast<uint64_t>(k), 1.0, {k, 1}));
          views.push_back(parts.back().view());
        }
        const Guarded bias = random(DType::f32, 1, columns, 69);
        for (const ConstView& added : {ConstView(), ConstView(bias.view())}) {
          const Guarded expected(DType::f64, 4, columns);
          reference().sum_parts({.parts = views, .bias = added, .y = expected.view()});
          const Guarded actual(storage(), 4, columns);
          cuda().sum_parts({.parts = views, .bias = added, .y = actual.view()});
          EXPECT_TRUE(close(actual, expected, stored()));
        }
        const Guarded expected(DType::f64, 4, columns);
        reference().sum_parts({.parts = views, .y = expected.view()});
        cuda().sum_parts({.parts = views, .y = parts.back().view()});  // y is one of the parts
        EXPECT_TRUE(close(parts.back(), expected, stored()));
      }
    }
  });
}

TEST_P(CudaElementwise, ActivationsGradientsMatchTheReference) {
  with_each_layout([&] {
    for (const Activation activation : kCudaActivations) {
      for (const float p : {0.0F, 0.25F}) {
        for (const int64_t columns : {1, 8, 9, 37}) {
          SCOPED_TRACE(fmt::format("activation {}, dropout {}, {} columns", static_cast<int>(activation), p, columns));
          const Guarded before = random(storage(), 5, columns, 4, 1.5), d_y = random(storage(), 5, columns, 5);
          const auto run = [&](Backend& backend, DType type) {
            const Guarded d(type, 5, columns);
            backend.activation_backward({.activation = activation,
                                         .dropout = dropout_of(p),
                                         .y = before.view(),
                                         .before = before.view(),
                                         .d_y = d_y.view(),
                                         .d_before = d.view()});
            return d;
          };
          EXPECT_TRUE(close(run(cuda(), storage()), run(reference(), DType::f64), stored()));
        }
      }
    }
  });
}

TEST_P(CudaElementwise, GatesMatchTheReference) {
  const auto expect_same = [&](const GateCase& c) {
    EXPECT_TRUE(close(c.forward(cuda(), types()), c.forward(reference(), kReferenceTypes), stored()));
    EXPECT_TRUE(close(c.backward(cuda(), types()), c.backward(reference(), kReferenceTypes), stored()));
  };
  with_each_layout([&] {
    for (const Activation activation : kCudaActivations) {
      for (const float p : {0.0F, 0.25F}) {
        SCOPED_TRACE(fmt::format("activation {}, dropout {}", static_cast<int>(activation), p));
        GateCase c = GateCase::make(types(), activation, 6, 37);
        c.dropout = dropout_of(p);
        expect_same(c);
      }
    }
    for (const int64_t columns : kPackColumns) {
      SCOPED_TRACE(columns);
      expect_same(GateCase::make(types(), Activation::silu, 5, columns));
    }
  });
}

TEST_P(CudaElementwise, DropsExactlyTheValuesThatTheCounterSelects) {
  with_each_layout([&] {
    for (const uint32_t first_column : {0U, 48U}) {
      Dropout dropout = dropout_of(0.3F);
      dropout.first_column = first_column;
      const Guarded factors(storage(), 70, 101), alone(storage(), 70, 101);
      cuda().fill(alone.view(), 1.0);
      cuda().activation_backward(
          {.activation = Activation::none, .dropout = dropout, .d_y = alone.view(), .d_before = factors.view()});
      cuda().drop({alone.view(), dropout});
      EXPECT_TRUE(same_bits(alone, factors));
      EXPECT_TRUE(alone.untouched());
      int64_t wrong = 0;
      for (int64_t r = 0; r < 70; ++r) {
        for (int64_t c = 0; c < 101; ++c) {
          const float factor = dropout.factor(dropout.row(r), static_cast<uint32_t>(c));
          wrong += std::abs(factors.get(r, c) - static_cast<double>(factor)) < 0.01 ? 0 : 1;
        }
      }
      EXPECT_EQ(wrong, 0);
    }
  });
}

TEST_P(CudaElementwise, SoftCapsMatchTheReference) {
  with_each_layout([&] {
    for (const int64_t columns : kPackColumns) {
      for (const double cap : {0.5, 30.0}) {
        SCOPED_TRACE(fmt::format("{} columns, cap {}", columns, cap));
        const Guarded x = random(storage(), 5, columns, 23, 20.0), d_y = random(storage(), 5, columns, 24);
        expect_changed_alike(x, stored(), [&](Backend& b, const Guarded& y) { b.soft_cap({y.view(), cap}); });
        const Guarded y = clone(x);
        cuda().soft_cap({y.view(), cap});
        expect_changed_alike(d_y, stored(), [&](Backend& b, const Guarded& d) {
          b.soft_cap_backward({y.view(), d.view(), cap});
        });
      }
    }
  });
  const Guarded x = random(storage(), 1, 20, 25);
  x.set(0, 3, std::nan(""));
  cuda().soft_cap({x.view(), 30.0});
  EXPECT_TRUE(std::isnan(x.get(0, 3)));
  EXPECT_FALSE(std::isnan(x.get(0, 4)));
}

}  // namespace
}  // namespace heed::test
