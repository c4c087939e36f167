// Helpers for the tests of ops: parameters and inputs in double, and a comparison of whole tapes with central
// differences under a random upstream gradient.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/reference/reference_backend.h"
#include "kernels/reference/values.h"
#include "ops/tape.h"
#include "ops/trainable.h"

namespace heed::test {

inline constexpr uint64_t kOpSeed = 20240607;

inline double get(const ConstView& view, int64_t row, int64_t column) { return reference::get(view, row, column); }
inline void set(const View& view, int64_t row, int64_t column, double value) {
  reference::set(view, row, column, value);
}

inline void fill_random(const View& view, uint64_t stream, double deviation = 1.0) {
  const RandomKey key = RandomKey{kOpSeed}.derive(stream);
  for (int64_t r = 0; r < view.rows(); ++r) {
    for (int64_t c = 0; c < view.columns(); ++c) {
      set(view, r, c, deviation * normal_draw(key, static_cast<uint64_t>(r * view.columns() + c)));
    }
  }
}

inline Tensor random_tensor(Shape shape, uint64_t stream, double deviation = 1.0, DType type = DType::f64) {
  Tensor tensor(shape, type);
  fill_random(tensor.view(), stream, deviation);
  return tensor;
}

inline std::vector<double> values_of(const ConstView& view) {
  std::vector<double> values;
  for (int64_t r = 0; r < view.rows(); ++r) {
    for (int64_t c = 0; c < view.columns(); ++c) {
      values.push_back(get(view, r, c));
    }
  }
  return values;
}

inline bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

// A trainable weight with its own memory. Its gradient starts as NaN, so that an op that adds to it instead of
// overwriting it is noticed.
class TestParameter {
 public:
  TestParameter(std::string name, Shape shape, uint64_t stream, double deviation = 0.5)
      : master_(random_tensor(shape, stream, deviation)),
        gradient_(shape, DType::f64),
        weight_(std::move(name), shape, shape.rank() == 1 ? WeightUse::vector : WeightUse::product_and_table),
        trainable_(master_.view(), gradient_.view()) {
    weight_.borrow(master_.view(), &trainable_);
    begin_update();
  }
  TestParameter(const TestParameter&) = delete;
  TestParameter& operator=(const TestParameter&) = delete;

  const Weight* get() const { return &weight_; }
  operator const Weight*() const { return &weight_; }
  const Weight& operator*() const { return weight_; }
  View master() const { return master_.view(); }
  View gradient() const { return gradient_.view(); }
  void begin_update() {
    trainable_.begin_gradient(gradient_.view());
    std::fill_n(gradient_.data<double>(), gradient_.elements(), std::nan(""));
  }

 private:
  Tensor master_, gradient_;
  Weight weight_;
  Trainable trainable_;
};

inline Var make_var(Backend& backend, const View& values, uint64_t first_row = 0) {
  Tensor tensor({values.rows(), values.columns()}, values.type(), backend.arena());
  backend.copy(values, tensor.view());
  return Var(std::move(tensor), first_row);
}

// The results of a function of a pass: activations, which get a random upstream gradient, and a loss.
struct Outcome {
  std::vector<Var> outputs;
  double loss = 0.0;
};

// A function of inputs and parameters, whose gradients are checked.
struct Differentiable {
  std::vector<Tensor> inputs;
  std::vector<TestParameter*> parameters;
  std::function<Outcome(Pass&, const std::vector<Var>&)> run;
  double scale = 1.0;      // of the loss
  uint64_t first_row = 0;  // of the inputs
};

class Differences {
 public:
  explicit Differences(const Differentiable& function) : function_(function), backend_(make_reference_backend()) {}

  Backend& backend() { return *backend_; }

  // The gradients of all inputs, then of all parameters, as the tape finds them.
  std::vector<std::vector<double>> gradients() {
    for (TestParameter* parameter : function_.parameters) {
      parameter->begin_update();
    }
    Tape tape(function_.scale);
    Pass pass = Pass::train(*backend_, DType::f64, tape, RandomKey{kOpSeed});
    const std::vector<Var> inputs = make_inputs();
    {
      Outcome outcome = function_.run(pass, inputs);
      for (size_t i = 0; i < outcome.outputs.size(); ++i) {
        const View shape = outcome.outputs[i].value();
        Tensor upstream({shape.rows(), shape.columns()}, DType::f64, backend_->arena());
        fill_random(upstream.view(), 1000 + i);
        outcome.outputs[i].set_gradient(std::move(upstream));
      }
    }
    tape.backward(*backend_);
    EXPECT_TRUE(tape.empty());
    std::vector<std::vector<double>> gradients;
    for (const Var& input : inputs) {
      gradients.push_back(values_of(input.gradient()));
    }
    for (const TestParameter* parameter : function_.parameters) {
      gradients.push_back(values_of(parameter->gradient()));
    }
    return gradients;
  }

  double objective() {
    Tape tape;
    Pass pass = Pass::train(*backend_, DType::f64, tape, RandomKey{kOpSeed});
    const Outcome outcome = function_.run(pass, make_inputs());
    double sum = function_.scale * outcome.loss;
    for (size_t i = 0; i < outcome.outputs.size(); ++i) {
      const View y = outcome.outputs[i].value();
      const Tensor upstream = random_tensor({y.rows(), y.columns()}, 1000 + i);
      for (int64_t r = 0; r < y.rows(); ++r) {
        for (int64_t c = 0; c < y.columns(); ++c) {
          sum += get(y, r, c) * get(upstream.view(), r, c);
        }
      }
    }
    return sum;
  }

  ::testing::AssertionResult check(const View& x, const std::vector<double>& gradient, const std::string& what) {
    constexpr double kStep = 1e-5, kTolerance = 1e-7;
    if (static_cast<int64_t>(gradient.size()) != x.elements()) {
      return ::testing::AssertionFailure() << what << ": " << gradient.size() << " elements for " << x.text();
    }
    double largest = 0.0;
    for (int64_t e = 0; e < x.elements(); ++e) {
      const int64_t r = e / x.columns(), c = e % x.columns();
      const double value = get(x, r, c);
      set(x, r, c, value + kStep);
      const double above = objective();
      set(x, r, c, value - kStep);
      const double below = objective();
      set(x, r, c, value);
      const double expected = (above - below) / (2.0 * kStep);
      const double found = gradient[static_cast<size_t>(e)];
      if (!(std::abs(found - expected) <= kTolerance * (1.0 + std::abs(expected)))) {
        return ::testing::AssertionFailure()
               << what << " (" << r << ", " << c << "): the gradient is " << found << ", the difference " << expected;
      }
      largest = std::max(largest, std::abs(expected));
    }
    return largest > 0.0 ? ::testing::AssertionSuccess()
                         : ::testing::AssertionFailure() << what << " changes nothing: nothing was checked";
  }

 private:
  std::vector<Var> make_inputs() {
    std::vector<Var> inputs;
    for (const Tensor& input : function_.inputs) {
      inputs.push_back(make_var(*backend_, input.view(), function_.first_row));
    }
    return inputs;
  }

  const Differentiable& function_;
  std::unique_ptr<Backend> backend_;
};

// Checks every gradient that the tape computes against differences; afterwards no memory is in use.
inline ::testing::AssertionResult gradients_are_right(const Differentiable& function) {
  Differences differences(function);
  const std::vector<std::vector<double>> gradients = differences.gradients();
  for (size_t i = 0; i < function.inputs.size(); ++i) {
    const auto result = differences.check(function.inputs[i].view(), gradients[i], "input " + std::to_string(i));
    if (!result) {
      return result;
    }
  }
  for (size_t i = 0; i < function.parameters.size(); ++i) {
    const TestParameter& parameter = *function.parameters[i];
    const auto result =
        differences.check(parameter.master(), gradients[function.inputs.size() + i], (*parameter).name());
    if (!result) {
      return result;
    }
  }
  if (differences.backend().arena().bytes_in_use() != 0) {
    return ::testing::AssertionFailure() << differences.backend().arena().bytes_in_use() << " bytes are still held";
  }
  return ::testing::AssertionSuccess();
}

template <class... Tensors>
std::vector<Tensor> inputs(Tensors... tensors) {
  std::vector<Tensor> list;
  (list.push_back(std::move(tensors)), ...);
  return list;
}

// Checks that `action` throws a `Kind` whose message contains all `parts`.
template <class Kind, class Action>
void expect_error(Action&& action, const std::vector<std::string>& parts) {
  try {
    action();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Kind& error) {
    for (const std::string& part : parts) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr(part));
    }
  }
}

inline DropoutSite dropout_at(std::string_view name, float probability) {
  return {RandomKey{}.derive(name), Probability{probability}};
}

}  // namespace heed::test
