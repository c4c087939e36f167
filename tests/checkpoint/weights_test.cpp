#include "checkpoint/weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/calls/linear.h"
#include "kernels/calls/rows.h"
#include "kernels/cpu/cpu_backend.h"
#include "kernels/integer_rows.h"
#include "tensor/half.h"
#include "test_folder.h"

namespace heed {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::filesystem::path folder() {
  const auto path = test::folder_of_test();
  std::filesystem::create_directories(path);
  return path;
}

class WeightFile : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove_all(folder()); }
};

struct Model {
  explicit Model(Shape matrix = {3, 5}, const std::string& last = "bias", DType storage = DType::f32) {
    weights.add("weight", matrix, WeightUse::product, Initialization::xavier_uniform());
    weights.add(last, {3}, WeightUse::vector, Initialization::normal(1.0));
    trainables.emplace(*backend, weights, storage, Trainables::Gradients::none);
  }

  std::vector<float> values(std::string_view name) const {
    const HostView<float> view = host<float>(trainables->find(name).master());
    return {view.data, view.data + view.rows * view.columns};
  }

  std::unique_ptr<Backend> backend = make_cpu_backend(1);
  Weights weights;
  std::optional<Trainables> trainables;
};

std::filesystem::path saved(uint64_t seed = 1) {
  Model model;
  model.trainables->initialize(*model.backend, seed);
  const auto path = folder() / "model.safetensors";
  save_weights(path, *model.trainables, {{"step", "7"}});
  return path;
}

std::string refusal(const std::filesystem::path& path, Model&& model) {
  try {
    load_masters(path, *model.backend, *model.trainables);
  } catch (const FormatError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST_F(WeightFile, IsLoadedAsItWasSaved) {
  Model written, read;
  written.trainables->initialize(*written.backend, 3);
  const auto path = folder() / "model.safetensors";
  save_weights(path, *written.trainables, {{"step", "7"}});
  EXPECT_EQ(SafeTensors(path).metadata().at("step"), "7");
  load_masters(path, *read.backend, *read.trainables);
  for (const char* const name : {"weight", "bias"}) {
    EXPECT_EQ(read.values(name), written.values(name));
  }
}

TEST_F(WeightFile, LoadingRefreshesTheCopiesThatProductsRead) {
  const auto path = saved(3);
  Model half({3, 5}, "bias", DType::bf16);
  load_masters(path, *half.backend, *half.trainables);
  const HostView<const bf16> copy = host<bf16>(half.weights.find("weight").value().matrix);
  const std::vector<float> masters = half.values("weight");
  for (size_t i = 0; i < masters.size(); ++i) {
    EXPECT_EQ(static_cast<float>(copy.data[i]), static_cast<float>(bf16(masters[i])));
  }
}

// One weight for each use, saved, and loaded as for inference.
class HeldWeights : public WeightFile {
 protected:
  static void add_all(Weights& weights) {
    const Initialization normal = Initialization::normal(1.0);
    weights.add("product", {96, 64}, WeightUse::product, normal);
    weights.add("table", {32, 64}, WeightUse::table, normal);
    weights.add("both", {64, 64}, WeightUse::product_and_table, normal);
    weights.add("vector", {64}, WeightUse::vector, normal);
  }
  void SetUp() override {
    add_all(trained_);
    trainables_.emplace(*backend_, trained_, DType::f32, Trainables::Gradients::none);
    trainables_->initialize(*backend_, 5);
    save_weights(path_, *trainables_, {});
    add_all(held_);
  }
  std::vector<float> values(const std::string& name) const {
    const HostView<float> view = host<float>(trainables_->find(name).master());
    return {view.data, view.data + view.rows * view.columns};
  }

  std::unique_ptr<Backend> backend_ = make_cpu_backend(2);
  std::filesystem::path path_ = folder() / "model.safetensors";
  Weights trained_, held_;
  std::optional<Trainables> trainables_;
};

TEST_F(HeldWeights, HaveTheOneFormThatTheirUseNeeds) {
  for (const DType precision : {DType::f32, DType::bf16}) {
    load_weights(path_, *backend_, precision, held_);
    for (const char* const name : {"product", "both"}) {
      const WeightView value = held_.find(name).value();
      EXPECT_TRUE(value.matrix.empty());
      ASSERT_NE(value.packed, nullptr);
      EXPECT_EQ(value.packed->bytes(), held_.find(name).shape().elements() * size_of(precision));
    }
    const ConstView table = held_.find("table").value().matrix;
    ASSERT_EQ(table.type(), precision);
    const std::vector<float> expected = values("table");
    for (size_t i = 0; i < expected.size(); ++i) {
      if (precision == DType::f32) {
        ASSERT_EQ(host<float>(table).data[i], expected[i]);
      } else {
        ASSERT_EQ(host<bf16>(table).data[i].bits, bf16(expected[i]).bits);
      }
    }
    const ConstView vector = held_.find("vector").vector();
    EXPECT_EQ(std::vector<float>(host<float>(vector).data, host<float>(vector).data + 64), values("vector"));
    int64_t bytes = 0;
    for (const Weight& weight : held_.all()) {
      bytes += weight.bytes();
    }
    EXPECT_EQ(bytes, (96 + 32 + 64) * 64 * size_of(precision) + 64 * 4);
  }
}

// Packing only changes the layout in memory: the results are those of training.
TEST_F(HeldWeights, GiveTheSameBitsAsTrainedOnes) {
  load_weights(path_, *backend_, DType::f32, held_);
  Tensor x({3, 64}, DType::f32), held({3, 64}, DType::f32), trained({3, 64}, DType::f32);
  std::ranges::generate(std::span(x.data<float>(), 3 * 64), [n = 0.0F]() mutable { return std::sin(n += 1.0F); });
  std::array<int32_t, 3> ids{0, 63, 33};
  const ConstView tokens(ids.data(), DType::i32, 1, 3, 3);
  const auto same = [&] { return std::memcmp(held.data<float>(), trained.data<float>(), 3 * 64 * sizeof(float)) == 0; };
  backend_->linear({.x = x.view(), .weight = held_.find("both").value(), .y = held.view()});
  backend_->linear({.x = x.view(), .weight = trained_.find("both").value(), .y = trained.view()});
  EXPECT_TRUE(same());
  backend_->embedding({.tokens = tokens, .table = held_.find("both").value(), .y = held.view()});
  backend_->embedding({.tokens = tokens, .table = trained_.find("both").value(), .y = trained.view()});
  EXPECT_TRUE(same());
}

TEST_F(HeldWeights, MustBeFinite) {
  host<float>(trainables_->find("both").master()).data[77] = std::numeric_limits<float>::infinity();
  save_weights(path_, *trainables_, {});
  try {
    load_weights(path_, *backend_, DType::bf16, held_);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const FormatError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("model.safetensors"), HasSubstr("'both'"), HasSubstr("finite")));
  }
}

// Tensors in files from other programs may begin anywhere.
TEST_F(HeldWeights, NeedNotBeAlignedInTheirFile) {
  std::string whole = read_file(path_);
  uint64_t length = 0;
  std::memcpy(&length, whole.data(), sizeof length);
  whole.insert(sizeof length + length, " ");
  ++length;
  std::memcpy(whole.data(), &length, sizeof length);
  write_file(path_, whole);
  load_weights(path_, *backend_, DType::f32, held_);
  EXPECT_EQ(host<float>(held_.find("vector").vector()).data[3], values("vector")[3]);
}

TEST_F(WeightFile, DifferencesAreNamedOnBothSides) {
  const auto path = saved();
  EXPECT_THAT(refusal(path, Model({5, 3})),
              AllOf(HasSubstr(path.string()), HasSubstr("weight F32[3, 5]"), HasSubstr("[5, 3]")));
  EXPECT_THAT(refusal(path, Model({3, 5}, "gain")), AllOf(HasSubstr(path.string()), HasSubstr("no tensor 'gain'")));
  Weights fewer;
  fewer.add("weight", {3, 5}, WeightUse::product, Initialization::zeros());
  EXPECT_THROW(load_weights(path, *make_cpu_backend(1), DType::f32, fewer), FormatError);
  EXPECT_EQ(refusal(path, Model()), "nothing was thrown");
}

TEST_F(WeightFile, ARefusedFileIsNotLoadedInPart) {
  const auto path = saved(1);
  Model model({3, 5}, "gain");
  model.trainables->initialize(*model.backend, 9);
  const std::vector<float> before = model.values("weight");
  EXPECT_THROW(load_masters(path, *model.backend, *model.trainables), FormatError);
  EXPECT_EQ(model.values("weight"), before);
}

TEST_F(WeightFile, AnyChangedByteIsNoticed) {
  const auto path = saved();
  const std::string whole = read_file(path);
  const size_t data = whole.size() - 18 * sizeof(float);
  for (const size_t place : {data, data + 33, whole.size() - 1}) {
    std::string edited = whole;
    edited[place] = static_cast<char>(edited[place] ^ 1);
    write_file(path, edited);
    Model model;
    try {
      load_masters(path, *model.backend, *model.trainables);
      ADD_FAILURE() << "byte " << place << " went unnoticed";
    } catch (const FormatError& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr("model.safetensors"), HasSubstr("was damaged or edited")));
    }
  }
}

// Also where another thread computes the checksum, and by values that would be refused for themselves.
TEST_F(WeightFile, ADamagedFileIsNotLoadedForInference) {
  const auto path = saved();
  const std::string whole = read_file(path);
  for (const float value : {std::numeric_limits<float>::quiet_NaN(), 0.5F}) {
    std::string edited = whole;
    std::memcpy(edited.data() + whole.size() - sizeof value, &value, sizeof value);
    write_file(path, edited);
    for (const int threads : {1, 2}) {
      const auto backend = make_cpu_backend(threads);
      Weights weights;
      weights.add("weight", {3, 5}, WeightUse::product, Initialization::xavier_uniform());
      weights.add("bias", {3}, WeightUse::vector, Initialization::normal(1.0));
      try {
        load_weights(path, *backend, DType::f32, weights);
        ADD_FAILURE() << value << " went unnoticed with " << threads << " threads";
      } catch (const FormatError& error) {
        EXPECT_THAT(error.what(), HasSubstr("was damaged or edited"));
      }
    }
  }
}

// Without its key there is no checksum to compare with.
TEST_F(WeightFile, WithADamagedKeyOfTheChecksumIsRefused) {
  const std::vector<float> matrix(15, 2.0F), bias(3, 1.0F);
  const std::vector tensors{tensor_source("weight", StoredType::f32, {3, 5}, std::as_bytes(std::span(matrix))),
                            tensor_source("bias", StoredType::f32, {3}, std::as_bytes(std::span(bias)))};
  const auto path = folder() / "model.safetensors";
  for (const Metadata& metadata : {Metadata{}, Metadata{{"model", "0123456789abcdef"}}}) {
    write_checked_safetensors(path, tensors, metadata);
    const std::string whole = read_file(path);
    const size_t key = whole.find("heed_checksum");
    for (size_t bit = 0; bit < 8 * std::string_view("heed_checksum").size(); ++bit) {
      std::string damaged = whole;
      damaged[key + bit / 8] = static_cast<char>(damaged[key + bit / 8] ^ (1 << bit % 8));
      write_file(path, damaged);
      EXPECT_THAT(refusal(path, Model()), HasSubstr("model.safetensors")) << bit;
    }
  }
  for (const Metadata& metadata : {Metadata{{"model", "0123456789abcdef"}}, Metadata{{"heed_layout", "panels-16"}}}) {
    write_safetensors(path, tensors, metadata);
    EXPECT_THAT(refusal(path, Model()), HasSubstr("no 'heed_checksum', which heed writes: the file was damaged"));
  }
}

TEST_F(WeightFile, FilesFromOtherProgramsNeedNoChecksum) {
  Model model;
  const auto path = folder() / "model.safetensors";
  const std::vector<float> matrix(15, 2.0F), bias(3, 1.0F);
  write_safetensors(path,
                    std::vector{tensor_source("weight", StoredType::f32, {3, 5}, std::as_bytes(std::span(matrix))),
                                tensor_source("bias", StoredType::f32, {3}, std::as_bytes(std::span(bias)))},
                    {{"format", "pt"}, {"file_checksum", "of another kind"}});
  load_masters(path, *model.backend, *model.trainables);
  EXPECT_EQ(model.values("weight"), matrix);
}

// As another program's models may be stored.
TEST_F(WeightFile, MastersBeginFromHalves) {
  std::vector<uint16_t> halves(15);
  std::vector<float> bias(3);
  for (size_t i = 0; i < halves.size(); ++i) {
    halves[i] = bf16(static_cast<float>(i) - 7.5F).bits;
  }
  const auto path = folder() / "half.safetensors";
  write_safetensors(path,
                    std::vector{tensor_source("weight", StoredType::bf16, {3, 5}, std::as_bytes(std::span(halves))),
                                tensor_source("bias", StoredType::f32, {3}, std::as_bytes(std::span(bias)))},
                    {});
  Model model;
  load_masters(path, *model.backend, *model.trainables);
  const std::vector<float> values = model.values("weight");
  EXPECT_EQ(values.front(), -7.5F);
  EXPECT_EQ(values.back(), 6.5F);
}

TEST_F(WeightFile, OtherElementTypesAreRefused) {
  const std::vector<std::byte> bytes(15 * 2), bias(3 * 4);
  const std::vector<TensorSource> tensors{tensor_source("weight", StoredType::i16, {3, 5}, bytes),
                                          tensor_source("bias", StoredType::f32, {3}, bias)};
  const auto path = folder() / "half.safetensors";
  write_safetensors(path, tensors, {});
  EXPECT_THAT(refusal(path, Model()), HasSubstr("I16[3, 5]"));
}

TEST_F(WeightFile, MissingAndCutFilesAreRefused) {
  Model model;
  EXPECT_THROW(load_masters(folder() / "none", *model.backend, *model.trainables), IoError);
  const auto path = saved();
  for (const uintmax_t size : {0U, 7U, 40U, static_cast<unsigned>(std::filesystem::file_size(path)) - 1U}) {
    saved();
    std::filesystem::resize_file(path, size);
    EXPECT_THROW(load_masters(path, *model.backend, *model.trainables), FormatError) << size;
  }
}

// What is in the file in bf16 needs no more memory in a run in f32.
TEST_F(HeldWeights, OfTwoBytesStayThatInProducts) {
  const std::vector<float> vector = values("vector"), table = values("table"), both = values("both");
  const std::vector<float> exact = values("product");
  std::vector<uint16_t> product(exact.size());
  std::ranges::transform(exact, product.begin(), [](float x) { return bf16(x).bits; });
  const auto tensor = [](const std::string& name, StoredType type, std::vector<int64_t> shape, const auto& elements) {
    return tensor_source(name, type, std::move(shape), std::as_bytes(std::span(elements)));
  };
  const std::vector<TensorSource> tensors{
      tensor("vector", StoredType::f32, {64}, vector), tensor("table", StoredType::f32, {32, 64}, table),
      tensor("both", StoredType::f32, {64, 64}, both), tensor("product", StoredType::bf16, {96, 64}, product)};
  write_checked_safetensors(path_, tensors, {});
  load_weights(path_, *backend_, DType::f32, held_);
  EXPECT_EQ(held_.find("product").bytes(), 96 * 64 * 2);
  EXPECT_EQ(held_.find("both").bytes(), 64 * 64 * 4);
}

// Two values in a byte, the first in the lower half, both 8 too large, and a scale in bf16 for each 32.
TEST_F(HeldWeights, OfFourBitsAreReadInOrder) {
  const std::vector<float> vector = values("vector"), table = values("table"), both = values("both");
  std::vector<uint8_t> pairs;
  for (size_t i = 0; i < size_t{96} * 32; ++i) {
    pairs.push_back(static_cast<uint8_t>(i * 7 % 256));
  }
  std::vector<uint16_t> scales(size_t{96} * 2, bf16(0.5F).bits);
  scales[3] = bf16(-2.0F).bits;  // of the second group of row 1
  const auto tensor = [](const std::string& name, StoredType type, std::vector<int64_t> shape, const auto& elements) {
    return tensor_source(name, type, std::move(shape), std::as_bytes(std::span(elements)));
  };
  const auto write = [&](std::vector<int64_t> shape_of_scales) {
    const std::vector<TensorSource> tensors{tensor("vector", StoredType::f32, {64}, vector),
                                            tensor("table", StoredType::f32, {32, 64}, table),
                                            tensor("both", StoredType::f32, {64, 64}, both),
                                            tensor("product.scales", StoredType::bf16, shape_of_scales, scales),
                                            tensor("product", StoredType::u8, {96, 32}, pairs)};
    write_checked_safetensors(path_, tensors, {});
  };
  write({96, 2});
  load_weights(path_, *backend_, DType::f32, held_);
  const std::array<int32_t, 1> row{1};
  Tensor y({1, 64}, DType::f32), ids({1}, DType::i32);
  ids.data<int32_t>()[0] = row[0];
  backend_->embedding({.tokens = ids.view(), .table = held_.find("product").value(), .y = y.view()});
  for (size_t k = 0; k < 64; ++k) {
    const int byte = pairs[32 + k / 2];
    const int value = (k % 2 == 0 ? byte % 16 : byte / 16) - 8;
    EXPECT_EQ(y.data<float>()[k], static_cast<float>(value) * (k < 32 ? 0.5F : -2.0F)) << k;
  }
  write({192});
  EXPECT_THROW(load_weights(path_, *backend_, DType::f32, held_), FormatError);
  scales.resize(96);
  write({96, 1});  // groups of 64
  load_weights(path_, *backend_, DType::f32, held_);
  backend_->embedding({.tokens = ids.view(), .table = held_.find("product").value(), .y = y.view()});
  for (size_t k = 0; k < 64; ++k) {
    const int byte = pairs[32 + k / 2];
    EXPECT_EQ(y.data<float>()[k], static_cast<float>((k % 2 == 0 ? byte % 16 : byte / 16) - 8) * 0.5F) << k;
  }
}

// Rows of bytes with a scale in f16 for each 32 of them.
TEST_F(HeldWeights, OfInt8InGroupsAreReadRowByRow) {
  const std::vector<float> vector = values("vector"), table = values("table"), both = values("both");
  std::vector<int8_t> bytes;
  for (size_t i = 0; i < size_t{96} * 64; ++i) {
    bytes.push_back(static_cast<int8_t>(i * 7 % 256));
  }
  std::vector<uint16_t> scales(size_t{96} * 2, half_from(0.5F));
  scales[3] = half_from(-2.0F);  // of the second group of row 1
  const auto tensor = [](const std::string& name, StoredType type, std::vector<int64_t> shape, const auto& elements) {
    return tensor_source(name, type, std::move(shape), std::as_bytes(std::span(elements)));
  };
  const auto write = [&](std::vector<int64_t> shape_of_scales, std::vector<int64_t> shape = {96, 64}) {
    const std::vector<TensorSource> tensors{tensor("vector", StoredType::f32, {64}, vector),
                                            tensor("table", StoredType::f32, {32, 64}, table),
                                            tensor("both", StoredType::f32, {64, 64}, both),
                                            tensor("product.scales", StoredType::f16, shape_of_scales, scales),
                                            tensor("product", StoredType::i8, shape, bytes)};
    write_checked_safetensors(path_, tensors, {});
  };
  const auto refusal = [&] {
    try {
      load_weights(path_, *backend_, DType::f32, held_);
    } catch (const FormatError& error) {
      return std::string(error.what());
    }
    return std::string("nothing was thrown");
  };
  write({96, 2});
  load_weights(path_, *backend_, DType::f32, held_);
  EXPECT_EQ(held_.find("product").bytes(), 96 * 64 + 96 * 2 * 2);
  Tensor y({1, 64}, DType::f32), ids({1}, DType::i32);
  ids.data<int32_t>()[0] = 1;
  backend_->embedding({.tokens = ids.view(), .table = held_.find("product").value(), .y = y.view()});
  for (size_t k = 0; k < 64; ++k) {
    EXPECT_EQ(y.data<float>()[k], static_cast<float>(bytes[64 + k]) * (k < 32 ? 0.5F : -2.0F)) << k;
  }
  write({192});
  EXPECT_THAT(refusal(), AllOf(HasSubstr("product.scales F16[192]"), HasSubstr("needs F16[96, 2]")));
  write({96, 2}, {64, 96});
  EXPECT_THAT(refusal(), AllOf(HasSubstr("product I8[64, 96]"), HasSubstr("the model has F32[96, 64]")));
  scales[5] = 0x7c00;
  write({96, 2});
  EXPECT_THAT(refusal(), HasSubstr("'product.scales' hold values that are not finite"));
}

// A file that holds each of the matrices in another form.
class QuantizedWeightFile : public HeldWeights {
 protected:
  void SetUp() override {
    HeldWeights::SetUp();
    const std::vector<float> both = values("both");
    for (const float x : both) {
      both_.push_back(half_from(x));
    }
    for (const float x : values("table")) {
      table_.push_back(bf16(x).bits);
    }
    product_.resize(size_t{96} * 64);
    scales_.resize(96);
    const std::vector<float> product = values("product");
    for (size_t r = 0; r < 96; ++r) {
      scales_[r] = quantize_row(std::span(product).subspan(r * 64, 64), std::span(product_).subspan(r * 64, 64));
    }
    vector_ = values("vector");
  }
  template <class T>
  static TensorSource tensor(const std::string& name, StoredType type, std::vector<int64_t> shape,
                             const std::vector<T>& values) {
    return tensor_source(name, type, std::move(shape), std::as_bytes(std::span(values)));
  }
  void write() const {
    std::vector<TensorSource> tensors{
        tensor("product.scales", StoredType::f32, {scale_count_}, scales_),
        tensor("vector", StoredType::f32, {64}, vector_), tensor("table", StoredType::bf16, {32, 64}, table_),
        tensor("both", StoredType::f16, {64, 64}, both_), tensor("product", StoredType::i8, {96, 64}, product_)};
    if (!input_scale_.empty()) {
      tensors.push_back(
          tensor("product.input_scale", StoredType::f32, {static_cast<int64_t>(input_scale_.size())}, input_scale_));
    }
    write_checked_safetensors(path_, tensors, {});
  }
  std::string refusal() {
    write();
    try {
      load_weights(path_, *backend_, DType::f32, held_);
    } catch (const FormatError& error) {
      return error.what();
    }
    return "nothing was thrown";
  }

  std::vector<uint16_t> both_, table_;
  std::vector<int8_t> product_;
  std::vector<float> scales_, vector_, input_scale_;
  int64_t scale_count_ = 96;
};

TEST_F(QuantizedWeightFile, GivesEachMatrixInItsForm) {
  write();
  load_weights(path_, *backend_, DType::f32, held_);
  EXPECT_EQ(held_.find("product").value().packed->bytes(), 96 * 64 + 96 * 8);  // with scales and sums
  EXPECT_EQ(held_.find("both").value().packed->bytes(), 64 * 64 * 4);
  const HostView<const float> table = host<float>(held_.find("table").value().matrix);
  for (size_t i = 0; i < table_.size(); ++i) {
    ASSERT_EQ(table.data[i], static_cast<float>(bf16(values("table")[i])));
  }
}

TEST_F(QuantizedWeightFile, IsRefusedWhenSomethingOfItIsWrong) {
  product_[100] = -128;
  EXPECT_THAT(refusal(), AllOf(HasSubstr("'product' holds -128"), HasSubstr("within +-127")));
  product_[100] = 1;
  scales_[3] = -1.0F;
  EXPECT_THAT(refusal(), HasSubstr("'product.scales' holds a scale below 0"));
  scales_[3] = std::numeric_limits<float>::infinity();
  EXPECT_THAT(refusal(), HasSubstr("'product.scales' hold values that are not finite"));
  scales_.resize(95, 1.0F);
  scale_count_ = 95;
  EXPECT_THAT(refusal(), AllOf(HasSubstr("F32[95]"), HasSubstr("needs F32[96]")));
  table_[5] = 0x7f80;  // infinity
  scales_.assign(96, 1.0F);
  scale_count_ = 96;
  EXPECT_THAT(refusal(), HasSubstr("'table' hold values that are not finite"));
}

// An input of 5 is cut off at 2, and the product is that of 2.
TEST_F(QuantizedWeightFile, GivesTheScaleOfItsInputs) {
  input_scale_ = {2.0F / 127.0F};
  write();
  load_weights(path_, *backend_, DType::f32, held_);
  const auto product = [&](float input) {
    Tensor x({1, 64}, DType::f32), y({1, 96}, DType::f32);
    std::fill_n(x.data<float>(), 64, input);
    backend_->linear({.x = x.view(),
                      .weight = held_.find("product").value(),
                      .bias = {},
                      .dropout = {},
                      .y = y.view(),
                      .before = {}});
    return std::vector<float>(y.data<float>(), y.data<float>() + 96);
  };
  EXPECT_EQ(product(5.0F), product(2.0F));
  EXPECT_NE(product(1.0F), product(2.0F));
}

TEST_F(QuantizedWeightFile, IsRefusedWithAnInputScaleThatMakesNoSense) {
  for (const float wrong : {0.0F, -1.0F, 1e-40F}) {
    input_scale_ = {wrong};
    EXPECT_THAT(refusal(), AllOf(HasSubstr("'product.input_scale' holds"), HasSubstr("not a scale above 0")));
  }
  input_scale_ = {std::numeric_limits<float>::quiet_NaN()};
  EXPECT_THAT(refusal(), HasSubstr("'product.input_scale' hold values that are not finite"));
  input_scale_ = {1.0F, 1.0F};
  EXPECT_THAT(refusal(), AllOf(HasSubstr("F32[2]"), HasSubstr("one input scale, F32[1]")));
}

TEST_F(QuantizedWeightFile, CannotBeTrained) {
  write();
  try {
    load_masters(path_, *backend_, *trainables_);
    FAIL();
  } catch (const FormatError& error) {
    EXPECT_THAT(error.what(), HasSubstr("which cannot be changed exactly"));
  }
}

}  // namespace
}  // namespace heed
