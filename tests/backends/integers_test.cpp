// Weights of integers: their sums have one answer, so results are compared bit by bit with the reference's.
#include <cmath>

#include "backends/backend_test.h"
#include "kernels/integer_rows.h"
#include "tensor/half.h"

namespace heed::test {
namespace {

// What holds for any number of bits.
class BackendIntegers : public BackendTest {
 protected:
  // Makes a weight, packed by the backend and by the reference.
  virtual void make(int64_t out, int64_t in) = 0;
  // In which the reference computes.
  virtual Types reference_types() const { return types(); }
  // A product with the backend's weight and one with the reference's.
  virtual ::testing::AssertionResult agree(const Guarded& found, const Guarded& expected) const {
    return same_bits(found, expected);
  }

  // Whole numbers over all of a range that begins with `least`.
  void fill(int64_t out, int64_t in, int64_t numbers, int64_t least) {
    values_ = Guarded(DType::i8, out, in, kTight);
    for (int64_t r = 0; r < out; ++r) {
      for (int64_t c = 0; c < in; ++c) {
        values_.set(r, c, static_cast<double>((r * 37 + c * 101) % numbers + least));
      }
    }
  }
  RowSource rows() const {
    return [this](int64_t first, int64_t count) { return values_.view().row_range(first, count); };
  }
  template <class Matrix>
  void pack(const Matrix& matrix) {
    packed_ = backend().pack(matrix);
    expected_ = reference().pack(matrix);
  }
  LinearCase linear_case(int64_t count) {
    LinearCase c = LinearCase::make(types(), count, values_.columns(), values_.rows());
    c.bias = Guarded();
    c.packed = packed_.get();
    return c;
  }

  // The pairs are the outputs and inputs of weights.
  void expect_the_bits_of_the_reference(const Shapes& weights) {
    for (const auto& [out, in] : shapes(weights)) {
      make(out, in);
      for (const int64_t count : sizes({.cpu = {1, 2, 3, 5, 6, 7, 12, 13, 40}, .cuda = {1, 8, 9, 16, 17, 70}})) {
        LinearCase c = linear_case(count);
        const Guarded y = c.forward(backend(), types()).y;
        c.packed = expected_.get();
        EXPECT_TRUE(agree(y, c.forward(reference(), reference_types()).y)) << count << " rows, " << in << " to " << out;
        EXPECT_TRUE(y.untouched());
      }
    }
  }
  // On the CPU, with many values all tasks share rows that were quantized once; with few, each task quantizes its own.
  // On GPUs few rows are multiplied by one kernel, many by another.
  void expect_the_same_bits_in_any_batch_and_on_any_threads() {
    make(here(150, 130), 96);
    const int64_t rows = here(300, 70);
    LinearCase c = linear_case(rows);
    c.activation = Activation::gelu;
    expect_same_rows(c, rows, [&](const LinearCase& part) { return part.forward(backend(), types()).y; });
    const auto alone = BackendTest::make(1);
    EXPECT_TRUE(same_bits(c.forward(*alone, types()).y, c.forward(backend(), types()).y));
  }
  void expect_rows_of_a_table_times_their_scales(std::initializer_list<int64_t> columns) {
    for (const int64_t in : columns) {
      make(70, in);
      EmbeddingCase c = EmbeddingCase::make(types(), 100, 70, in);
      c.packed = packed_.get();
      const Guarded y = c.forward(backend(), types());
      c.packed = expected_.get();
      EXPECT_TRUE(close(y, c.forward(reference(), kReferenceTypes), stored())) << in << " columns";
    }
  }

  // The matrix in panels of its own, `bytes` long with their scales, which the CPU uses where they are.
  template <class Panels>
  void expect_adopted_panels_to_give_the_same_bits(const Panels& panels, int64_t bytes) {
    expect_the_same_bits_from(*backend().adopt(panels), *reference().adopt(panels), bytes);
  }
  void expect_the_same_bits_from(const PackedWeight& adopted, const PackedWeight& by_reference, int64_t bytes) {
    EXPECT_EQ(adopted.bytes(), here(bytes, packed_->bytes()));
    for (const int64_t count : {1, 2, 7, 40}) {
      LinearCase c = linear_case(count);
      const Guarded y = c.forward(backend(), types()).y;
      c.packed = &adopted;
      EXPECT_TRUE(same_bits(y, c.forward(backend(), types()).y)) << count;
      c.packed = &by_reference;
      EXPECT_TRUE(agree(y, c.forward(reference(), reference_types()).y)) << count;
    }
    EmbeddingCase c = EmbeddingCase::make(types(), 100, values_.rows(), values_.columns());
    c.packed = packed_.get();
    const Guarded y = c.forward(backend(), types());
    c.packed = &adopted;
    EXPECT_TRUE(same_bits(y, c.forward(backend(), types())));
  }
  HostView<const int8_t> rows_of_panel(int64_t panel) const {
    const int64_t first = std::min(values_.rows(), panel * kPanelRows);
    const int64_t count = std::min(kPanelRows, values_.rows() - first);
    const HostView<int8_t> rows = host<int8_t>(values_.view().row_range(first, count));
    return {rows.data, rows.rows, rows.columns, rows.stride};
  }
  // Memory for panels, aligned as a file's are.
  uint32_t* aligned(int64_t words) {
    panels_ = Tensor({words}, DType::f32, arena_);
    return reinterpret_cast<uint32_t*>(panels_.data<float>());
  }

  Guarded values_, scales_;
  std::unique_ptr<PackedWeight> packed_, expected_;
  Arena arena_;
  Tensor panels_;
};

class BackendInt8 : public BackendIntegers {
 protected:
  void make(int64_t out, int64_t in) override {
    fill(out, in, 255, -127);
    pack_with_scales(out, in);
  }
  void make_of(int64_t out, int64_t in, int64_t weight) {
    fill(out, in, 1, weight);
    pack_with_scales(out, in);
  }
  virtual float input_scale() const { return 0.0F; }

 private:
  void pack_with_scales(int64_t out, int64_t in) {
    scales_ = random(DType::f32, 1, out, 5);
    for (int64_t r = 0; r < out; ++r) {
      scales_.set(0, r, std::abs(scales_.get(0, r)));
    }
    pack(Int8Matrix{{out, in}, rows(), scales_.view(), input_scale()});
  }
};

// Inputs are mostly within +-3: the largest are cut off.
class BackendInt8Static : public BackendInt8 {
 protected:
  float input_scale() const override { return 2.0F / 127.0F; }
};

class BackendInt4 : public BackendIntegers {
 protected:
  virtual HalfType scale_type() const { return HalfType::bf16; }
  // The scale of a row's group. In f16 they go down to the smallest that there is.
  uint16_t scale_bits(int64_t row, int64_t group) const {
    return scale_type() == HalfType::f16 && row % 11 == 5
               ? uint16_t{1}
               : to_bits(scale_type(), 0.01F * static_cast<float>((row + 3 * group) % 13 - 5));
  }
  void make(int64_t out, int64_t in) override { make_in_groups(out, in, kInt4Group); }
  void make_in_groups(int64_t out, int64_t in, int64_t group) {
    fill(out, in, 16, -8);
    scales_ = Guarded(DType::f32, out, in / kInt4Group, kTight);
    for (int64_t r = 0; r < out; ++r) {
      for (int64_t k = 0; k < in; k += kInt4Group) {
        scales_.set(r, k / kInt4Group, static_cast<double>(from_bits(scale_type(), scale_bits(r, k / group))));
      }
    }
    pack(Int4Matrix{{out, in}, rows(), scales_.view(), scale_type()});
  }
  // Groups of 64 are pairs of groups of 32 with one scale.
  void expect_the_same_bits_from_panels_with_groups_of(int64_t group) {
    const int64_t out = 35, in = 128, panels = panels_of(out), groups = in / group;
    make_in_groups(out, in, group);
    uint32_t* const words = aligned(panels * int4_panel_words(in));
    std::vector<uint16_t> scales(static_cast<size_t>(padded_rows(out) * groups));
    for (int64_t r = 0; r < out; ++r) {
      for (int64_t g = 0; g < groups; ++g) {
        scales[static_cast<size_t>((r / kPanelRows * groups + g) * kPanelRows + r % kPanelRows)] = scale_bits(r, g);
      }
    }
    for (int64_t panel = 0; panel < panels; ++panel) {
      write_int4_panel(rows_of_panel(panel), words + panel * int4_panel_words(in));
    }
    const Int4Panels whole{{out, in}, words, scales.data(), scale_type(), group, nullptr};
    expect_adopted_panels_to_give_the_same_bits(whole, padded_rows(out) * (in / 2 + groups * 2));
  }
};

// The scales of a GGUF's q4_0.
class BackendInt4WithScalesInF16 : public BackendInt4 {
 protected:
  HalfType scale_type() const override { return HalfType::f16; }
};

// All bytes occur, -128 too, and scales down to the smallest that f16 has. GPUs have no products of them: there the
// weights are widened to the inputs' type, and inputs are not quantized.
class BackendInt8Groups : public BackendIntegers {
 protected:
  static uint16_t scale_bits(int64_t row, int64_t group) {
    return row % 11 == 5 ? uint16_t{1} : half_from(0.01F * static_cast<float>((row + 3 * group) % 13 - 5));
  }
  void make(int64_t out, int64_t in) override {
    fill(out, in, 256, -128);
    pack_with_scales(out, in);
  }
  void make_of(int64_t out, int64_t in, int64_t weight) {
    fill(out, in, 1, weight);
    pack_with_scales(out, in);
  }
  bool is_widened() const { return GetParam().device != Device::cpu; }
  Types reference_types() const override { return is_widened() ? kReferenceTypes : types(); }
  ::testing::AssertionResult agree(const Guarded& found, const Guarded& expected) const override {
    return is_widened() ? close(found, expected, stored()) : same_bits(found, expected);
  }

 private:
  void pack_with_scales(int64_t out, int64_t in) {
    scales_ = Guarded(DType::f32, out, in / kInt8Group, kTight);
    for (int64_t r = 0; r < out; ++r) {
      for (int64_t g = 0; g < in / kInt8Group; ++g) {
        scales_.set(r, g, static_cast<double>(from_half(scale_bits(r, g))));
      }
    }
    const Int8GroupMatrix matrix{{out, in}, rows(), scales_.view()};
    packed_ = backend().pack(matrix, storage());
    expected_ = is_widened() ? reference().pack_matrix(converted(widened(), storage()).view())
                             : reference().pack(matrix, storage());
  }
  Guarded widened() const {
    Guarded values(DType::f32, values_.rows(), values_.columns(), kTight);
    for (int64_t r = 0; r < values_.rows(); ++r) {
      for (int64_t c = 0; c < values_.columns(); ++c) {
        values.set(r, c, values_.get(r, c) * scales_.get(r, c / kInt8Group));
      }
    }
    return values;
  }
};

// Each of the outputs with each of the inputs.
std::vector<std::pair<int64_t, int64_t>> all_weights(const std::vector<int64_t>& outputs,
                                                     const std::vector<int64_t>& inputs) {
  std::vector<std::pair<int64_t, int64_t>> weights;
  for (const int64_t out : outputs) {
    for (const int64_t in : inputs) {
      weights.emplace_back(out, in);
    }
  }
  return weights;
}

// On the CPU outputs around the widths of panels; on GPUs around the edges of tiles and of blocks of columns.
TEST_P(BackendInt8, AProductHasTheBitsOfTheReference) {
  expect_the_bits_of_the_reference(
      {.cpu = all_weights({1, 15, 16, 17, 32, 33, 100, 300}, {1, 3, 4, 5, 31, 64, 67, 520}),
       .cuda = {{1, 3}, {7, 64}, {8, 67}, {9, 128}, {33, 129}, {130, 520}}});
}
TEST_P(BackendInt8Static, AProductHasTheBitsOfTheReference) {
  expect_the_bits_of_the_reference(
      {.cpu = all_weights({1, 17, 33, 300}, {1, 3, 5, 31, 67, 520}), .cuda = {{1, 5}, {33, 129}}});
}
TEST_P(BackendInt8Static, ARowHasTheSameBitsInAnyBatchAndOnAnyThreads) {
  expect_the_same_bits_in_any_batch_and_on_any_threads();
}
// Pairs of products of bytes are summed in 16 bits on the way.
TEST_P(BackendInt8, TheLargestProductsKeepAllTheirBits) {
  for (const int64_t weight : {-128, -127, 127}) {
    make_of(33, 20, weight);
    LinearCase c = linear_case(7);
    for (int64_t k = 0; k < 7 * 20; ++k) {
      c.x.set(k / 20, k % 20, k / 20 % 2 == 0 ? 1.0 : -1.0);
    }
    const Guarded y = c.forward(backend(), types()).y;
    c.packed = expected_.get();
    EXPECT_TRUE(same_bits(y, c.forward(reference(), types()).y)) << "weights of " << weight;
  }
}
TEST_P(BackendInt8Static, InputsBeyondTheRangeAreCutOff) {
  make(33, 20);
  LinearCase c = linear_case(2);
  for (int64_t k = 0; k < 20; ++k) {
    c.x.set(0, k, k % 2 == 0 ? 2.0 : -2.0);
    c.x.set(1, k, k % 2 == 0 ? 1e30 : -50.0);
  }
  const Guarded y = c.forward(backend(), types()).y;
  for (int64_t column = 0; column < 33; ++column) {
    EXPECT_EQ(y.get(0, column), y.get(1, column));
  }
}
TEST_P(BackendInt4, AProductHasTheBitsOfTheReference) {
  expect_the_bits_of_the_reference({.cpu = all_weights({1, 8, 15, 16, 17, 32, 33, 100}, {32, 64, 96, 288}),
                                    .cuda = {{1, 32}, {7, 64}, {8, 96}, {9, 128}, {33, 160}, {130, 288}}});
}
TEST_P(BackendInt4WithScalesInF16, AProductHasTheBitsOfTheReference) {
  expect_the_bits_of_the_reference({.cpu = all_weights({1, 8, 15, 16, 17, 32, 33, 100}, {32, 64, 96, 288}),
                                    .cuda = {{1, 32}, {7, 64}, {8, 96}, {9, 128}, {33, 160}, {130, 288}}});
}

TEST_P(BackendInt8Groups, AProductHasTheBitsOfTheReference) {
  expect_the_bits_of_the_reference({.cpu = all_weights({1, 8, 15, 16, 17, 32, 33, 100}, {32, 64, 96, 288}),
                                    .cuda = {{1, 32}, {7, 64}, {8, 96}, {9, 128}, {33, 160}, {130, 288}}});
}
TEST_P(BackendInt8Groups, TheLargestProductsKeepAllTheirBits) {
  for (const int64_t weight : {-128, 127}) {
    make_of(33, 64, weight);
    LinearCase c = linear_case(7);
    for (int64_t k = 0; k < 7 * 64; ++k) {
      c.x.set(k / 64, k % 64, k / 64 % 2 == 0 ? 1.0 : -1.0);
    }
    const Guarded y = c.forward(backend(), types()).y;
    c.packed = expected_.get();
    EXPECT_TRUE(agree(y, c.forward(reference(), reference_types()).y)) << "weights of " << weight;
  }
}

TEST_P(BackendInt8, ARowHasTheSameBitsInAnyBatchAndOnAnyThreads) {
  expect_the_same_bits_in_any_batch_and_on_any_threads();
}
TEST_P(BackendInt8Groups, ARowHasTheSameBitsInAnyBatchAndOnAnyThreads) {
  expect_the_same_bits_in_any_batch_and_on_any_threads();
}
TEST_P(BackendInt4, ARowHasTheSameBitsInAnyBatchAndOnAnyThreads) {
  expect_the_same_bits_in_any_batch_and_on_any_threads();
}

// The CPU unpacks 256 columns of 8 bits at a time, or 512 of 4 bits.
TEST_P(BackendInt8, ATableGivesRowsTimesTheirScales) { expect_rows_of_a_table_times_their_scales({1, 37, 549}); }
TEST_P(BackendInt8Groups, ATableGivesRowsTimesTheirScales) { expect_rows_of_a_table_times_their_scales({64, 544}); }
TEST_P(BackendInt4, ATableGivesRowsTimesTheirScales) { expect_rows_of_a_table_times_their_scales({64, 1056}); }
TEST_P(BackendInt4WithScalesInF16, ATableGivesRowsTimesTheirScales) {
  expect_rows_of_a_table_times_their_scales({64, 1056});
}

TEST_P(BackendInt8, ARowOfZerosGivesTheBias) {
  make(33, 20);
  LinearCase c = linear_case(2);
  c.bias = random(DType::f32, 1, 33, 3);
  c.x = Guarded(storage(), 2, 20);
  for (int64_t k = 0; k < 40; ++k) {
    c.x.set(k / 20, k % 20, 0.0);
  }
  const Guarded y = c.forward(backend(), types()).y;
  for (int64_t column = 0; column < 33; ++column) {
    EXPECT_EQ(y.get(0, column), converted(c.bias, storage()).get(0, column));
  }
}

TEST_P(BackendInt8, TheOutputLossIsThatOfTheReference) {
  const int64_t out = here(600, 140);
  make(out, 96);
  LossCase c = LossCase::make(types(), here(60, 20), 96, out);
  c.packed = packed_.get();
  const auto losses = c.forward(backend(), types()).losses;
  c.packed = expected_.get();
  EXPECT_TRUE(close(losses, c.forward(reference(), {storage(), DType::f32}).losses, tolerance_of(DType::f32)));
}

TEST_P(BackendInt8, AdoptedPanelsGiveTheSameBits) {
  for (const int64_t out : sizes({.cpu = {1, 33, 100}, .cuda = {1, 33}})) {
    const int64_t in = 67, panels = panels_of(out);
    make(out, in);
    uint32_t* const words = aligned(panels * int8_panel_words(in));
    std::vector<float> scales(static_cast<size_t>(padded_rows(out)));
    std::vector<int32_t> sums(scales.size());
    for (int64_t r = 0; r < out; ++r) {
      scales[static_cast<size_t>(r)] = static_cast<float>(scales_.get(0, r));
    }
    for (int64_t panel = 0; panel < panels; ++panel) {
      write_int8_panel(rows_of_panel(panel), words + panel * int8_panel_words(in), sums.data() + panel * kPanelRows);
    }
    expect_adopted_panels_to_give_the_same_bits(Int8Panels{{out, in}, words, scales.data(), sums.data(), 0.0F, nullptr},
                                                packed_->bytes());
  }
}

TEST_P(BackendInt8Groups, AdoptedPanelsGiveTheSameBits) {
  const int64_t out = 35, in = 96, panels = panels_of(out), groups = in / kInt8Group;
  make(out, in);
  uint32_t* const words = aligned(panels * int8_panel_words(in));
  std::vector<uint16_t> scales(static_cast<size_t>(padded_rows(out) * groups));
  for (int64_t r = 0; r < out; ++r) {
    for (int64_t group = 0; group < groups; ++group) {
      scales[static_cast<size_t>((r / kPanelRows * groups + group) * kPanelRows + r % kPanelRows)] =
          scale_bits(r, group);
    }
  }
  for (int64_t panel = 0; panel < panels; ++panel) {
    write_int8_panel(rows_of_panel(panel), words + panel * int8_panel_words(in), nullptr);
  }
  const Int8GroupPanels whole{{out, in}, words, scales.data(), nullptr};
  const auto by_reference = reference().adopt(whole, storage());
  expect_the_same_bits_from(*backend().adopt(whole, storage()), is_widened() ? *expected_ : *by_reference,
                            padded_rows(out) * (in + groups * 2));
}

TEST_P(BackendInt8Groups, TakesEightAndAHalfBitsForAValueOrThoseOfTheInputs) {
  make(64, 256);
  EXPECT_EQ(packed_->bytes(), here(64 * 256 + 64 * 256 / kInt8Group * 2, 64 * 256 * size_of(storage())));
}

TEST_P(BackendInt4, AdoptedPanelsGiveTheSameBits) {
  for (const int64_t group : {kInt4Group, kLargeInt4Group}) {
    expect_the_same_bits_from_panels_with_groups_of(group);
  }
}
TEST_P(BackendInt4WithScalesInF16, AdoptedPanelsGiveTheSameBits) {
  for (const int64_t group : {kInt4Group, kLargeInt4Group}) {
    expect_the_same_bits_from_panels_with_groups_of(group);
  }
}

TEST_P(BackendInt4, TakesFourAndAHalfBitsForAValue) {
  make(64, 256);
  EXPECT_EQ(packed_->bytes(), 64 * 256 / 2 + 64 * 256 / kInt4Group * 2);
}

HEED_IN_EACH_SETTING(BackendInt8, integer_products);
HEED_IN_EACH_SETTING(BackendInt8Static, integer_products);
HEED_IN_EACH_SETTING(BackendInt8Groups, integer_products);
HEED_IN_EACH_SETTING(BackendInt4, integer_products);
HEED_IN_EACH_SETTING(BackendInt4WithScalesInF16, integer_products);

}  // namespace
}  // namespace heed::test
