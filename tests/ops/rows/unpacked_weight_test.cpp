#include "ops/unpacked_weight.h"

#include <array>
#include <span>

#include "kernels/cpu/cpu_backend.h"
#include "kernels/integer_rows.h"
#include "ops/loss/loss.h"
#include "ops/op_testing.h"
#include "ops/rows/linear.h"
#include "ops/rows/low_rank.h"

namespace heed::test {
namespace {

enum class Integers : uint8_t { int8, int8_groups, int4 };
constexpr std::array kAll{Integers::int8, Integers::int8_groups, Integers::int4};

// A matrix of integers, and the floats that it stands for.
class Quantized {
 public:
  Quantized(Integers integers, Shape shape, uint64_t stream) : integers_(integers), shape_(shape) {
    const Tensor drawn = random_tensor(shape, stream, 0.5, DType::f32);
    const std::span all(drawn.data<float>(), static_cast<size_t>(shape.elements()));
    values_.resize(all.size());
    for (size_t first = 0; first < all.size(); first += group()) {
      const std::span<const float> from = all.subspan(first, group());
      const std::span<int8_t> to = std::span(values_).subspan(first, group());
      scales_.push_back(integers == Integers::int8          ? quantize_row(from, to)
                        : integers == Integers::int8_groups ? quantize_int8_group(from, to)
                                                            : quantize_group(from, to));
    }
  }

  std::unique_ptr<PackedWeight> packed(Backend& backend, DType inputs) const {
    const RowSource rows = [this](int64_t first, int64_t count) {
      return ConstView(values_.data() + first * shape_.columns(), DType::i8, count, shape_.columns(), shape_.columns());
    };
    const int64_t groups = shape_.columns() / static_cast<int64_t>(group());
    const ConstView scales(scales_.data(), DType::f32, shape_.rows(), groups, groups);
    switch (integers_) {
      case Integers::int8:
        return backend.pack(Int8Matrix{
            shape_, rows, ConstView(scales_.data(), DType::f32, 1, groups * shape_.rows(), groups * shape_.rows())});
      case Integers::int8_groups:
        return backend.pack(Int8GroupMatrix{shape_, rows, scales}, inputs);
      case Integers::int4:
        break;
    }
    return backend.pack(Int4Matrix{shape_, rows, scales});
  }
  Tensor floats(DType type) const {
    Tensor floats(shape_, type);
    for (int64_t i = 0; i < shape_.elements(); ++i) {
      const auto index = static_cast<size_t>(i);
      set(floats.view(), i / shape_.columns(), i % shape_.columns(),
          static_cast<double>(scales_[index / group()] * static_cast<float>(values_[index])));
    }
    return floats;
  }

 private:
  size_t group() const { return static_cast<size_t>(integers_ == Integers::int8 ? shape_.columns() : kInt4Group); }

  Integers integers_;
  Shape shape_;
  std::vector<int8_t> values_;
  std::vector<float> scales_;
};

TEST(UnpackedWeight, GradientsOfAnAdapterOnIntegersAgreeWithDifferences) {
  for (const Integers integers : kAll) {
    const auto packer = make_reference_backend();
    const Quantized quantized(integers, {5, 32}, 4);
    Weight matrix("matrix", {5, 32}, WeightUse::product);
    matrix.hold_for_training(quantized.packed(*packer, DType::f64));
    TestParameter a("a", {2, 32}, 2), b("b", {5, 2}, 3), bias("bias", {5}, 6);
    matrix.add_low_rank(std::make_shared<LowRank>(LowRank{a, b, 1.7, dropout_at("adapter", 0.4F)}));
    const Differentiable function{
        .inputs = inputs(random_tensor({6, 32}, 1)),
        .parameters = {&a, &b, &bias},
        .run = [&](Pass& pass, const std::vector<Var>& x) {
          return Outcome{{linear(pass, x[0], {&matrix, bias}, {Activation::gelu, dropout_at("linear", 0.3F)})}};
        }};
    EXPECT_TRUE(gradients_are_right(function)) << static_cast<int>(integers);
  }
}

TEST(UnpackedWeight, TheGradientOfALossOverIntegersAgreesWithDifferences) {
  for (const Integers integers : kAll) {
    const auto packer = make_reference_backend();
    const Quantized quantized(integers, {7, 32}, 4);
    Weight projection("output.weight", {7, 32}, WeightUse::product_and_table);
    projection.hold_for_training(quantized.packed(*packer, DType::f64));
    const Targets targets({1, 6, Targets::kIgnored, 0});
    const Differentiable function{.inputs = inputs(random_tensor({4, 32}, 1)),
                                  .parameters = {},
                                  .run =
                                      [&](Pass& pass, const std::vector<Var>& x) {
                                        const TokenLosses losses = output_loss(
                                            pass, Hidden(x[0]), {&projection, nullptr}, targets, Smoothing{0.1F});
                                        return Outcome{{}, losses.total_smoothed()};
                                      },
                                  .scale = 0.25};
    EXPECT_TRUE(gradients_are_right(function)) << static_cast<int>(integers);
  }
}

// What a product and its backward give on the CPU.
struct ProductBits {
  std::vector<double> y, d_x;
  bool operator==(const ProductBits& other) const { return same_bits(y, other.y) && same_bits(d_x, other.d_x); }
};

ProductBits product_of(Backend& backend, const Weight& weight, DType storage) {
  Tape tape;
  Pass pass = Pass::train(backend, storage, tape, RandomKey{1});
  const Tensor values = random_tensor({9, weight.shape().columns()}, 1, 1.0, storage);
  Var x = make_var(backend, values.view());
  Var y = linear(pass, x, {&weight, nullptr});
  const std::vector<double> found = values_of(y.value());
  Tensor upstream({9, weight.shape().rows()}, storage, backend.arena());
  fill_random(upstream.view(), 5);
  y.set_gradient(std::move(upstream));
  tape.backward(backend);
  return {found, values_of(x.gradient())};
}

TEST(UnpackedWeight, IntegersHaveTheBitsOfTheFloatsThatTheyStandFor) {
  const auto backend = make_cpu_backend(2);
  for (const Integers integers : kAll) {
    for (const DType storage : {DType::f32, DType::bf16}) {
      const Quantized quantized(integers, {70, 96}, 4);
      const Tensor floats = quantized.floats(storage);
      Weight plain("matrix", {70, 96}, WeightUse::product), held("matrix", {70, 96}, WeightUse::product);
      plain.borrow(floats.view(), nullptr);
      held.hold_for_training(quantized.packed(*backend, storage));
      EXPECT_EQ(product_of(*backend, held, storage), product_of(*backend, plain, storage));
    }
  }
}

TEST(UnpackedWeight, GivesItsMemoryBackAndLeavesTheProductsOfInferenceAsTheyAre) {
  const auto backend = make_cpu_backend(1);
  const Quantized quantized(Integers::int8, {70, 96}, 4);
  Weight matrix("matrix", {70, 96}, WeightUse::product);
  matrix.hold_for_training(quantized.packed(*backend, DType::f32));
  EXPECT_LT(matrix.bytes(), 2 * 70 * 96);
  const int64_t before = backend->arena().bytes_in_use();
  {
    const UnpackedWeight unpacked(*backend, matrix, DType::f32);
    EXPECT_EQ(unpacked.view().packed, nullptr);
    EXPECT_TRUE(same_bits(values_of(unpacked.view().matrix), values_of(quantized.floats(DType::f32).view())));
    EXPECT_GE(backend->arena().bytes_in_use(), before + 70 * 96 * 4);
  }
  EXPECT_EQ(backend->arena().bytes_in_use(), before);
  const std::unique_ptr<PackedWeight> taken = matrix.take_packed();
  EXPECT_TRUE(matrix.value().empty());
  EXPECT_FALSE(matrix.is_unpacked_for_products());
  Weight inferring("matrix", {70, 96}, WeightUse::product);
  const std::vector<int8_t> zeros(70 * 96);
  const std::vector<float> scales(70, 1.0F);
  inferring.store(*backend, Int8Matrix{{70, 96},
                                       [&](int64_t first, int64_t count) {
                                         return ConstView(zeros.data() + first * 96, DType::i8, count, 96, 96);
                                       },
                                       ConstView(scales.data(), DType::f32, 1, 70, 70)});
  EXPECT_EQ(UnpackedWeight(*backend, inferring, DType::f32).view().packed, inferring.value().packed);
}

}  // namespace
}  // namespace heed::test
