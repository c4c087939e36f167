#include "checkpoint/stored_panels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>

#include "base/system/files.h"
#include "checkpoint/weights.h"
#include "kernels/calls/linear.h"
#include "kernels/cpu/cpu_backend.h"
#include "kernels/integer_panels.h"
#include "tensor/half.h"
#include "test_folder.h"

namespace heed {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// A file with an int8 and an int4 matrix in panels.
class PanelFile : public testing::Test {
 protected:
  void SetUp() override {
    held_.add("eight", {40, 20}, WeightUse::product, Initialization::zeros());
    held_.add("four", {40, 64}, WeightUse::product, Initialization::zeros());
    held_.add("groups", {40, 64}, WeightUse::product, Initialization::zeros());
    std::filesystem::create_directories(path_.parent_path());
  }
  void TearDown() override { std::filesystem::remove_all(path_.parent_path()); }

  void write(const std::string& layout = "panels-16") const {
    const auto tensor = [](const std::string& name, StoredType type, std::vector<int64_t> shape, const auto& values) {
      return tensor_source(name, type, std::move(shape), std::as_bytes(std::span(values)));
    };
    std::vector<TensorSource> tensors{tensor("eight", StoredType::i8, {4, 5, 16, 4}, eight_),
                                      tensor("eight.scales", StoredType::f32, {64}, scales_),
                                      tensor("four", StoredType::u8, {4, 8, 16, 4}, four_),
                                      tensor("groups", StoredType::i8, {4, 16, 16, 4}, in_groups_),
                                      tensor("groups.scales", StoredType::f16, {4, 2, 16}, half_scales_),
                                      tensor("four.scales", type_of_group_scales_, {4, groups_, 16}, group_scales_)};
    if (!sums_.empty()) {
      tensors.push_back(tensor("eight.sums", StoredType::i32, {static_cast<int64_t>(sums_.size())}, sums_));
    }
    if (!first_.empty()) {
      tensors.insert(tensors.begin(), tensor("eight.input_scale", StoredType::f32, {1}, first_));
    }
    write_checked_safetensors(path_, tensors, {{"heed_layout", layout}});
  }
  void load() { load_weights(path_, *backend_, DType::f32, held_); }
  std::string refusal(const std::string& layout = "panels-16") {
    write(layout);
    return refusal_of_file();
  }
  std::string refusal_of_file() {
    try {
      load();
    } catch (const FormatError& error) {
      return error.what();
    }
    return "nothing was thrown";
  }
  // Each output is the sum of the inputs, 1, times the row.
  std::vector<float> product_with_ones(const std::string& name) {
    const WeightView weight = held_.find(name).value();
    Tensor x({1, weight.columns()}, DType::f32), y({1, weight.rows()}, DType::f32);
    std::fill_n(x.data<float>(), weight.columns(), 1.0F);
    backend_->linear({.x = x.view(), .weight = weight, .y = y.view()});
    return {y.data<float>(), y.data<float>() + weight.rows()};
  }

  std::unique_ptr<Backend> backend_ = make_cpu_backend(2);
  std::filesystem::path path_ = test::folder_of_test() / "model.safetensors";
  std::vector<int8_t> eight_ = std::vector<int8_t>(size_t{4} * 5 * 64, 3);
  std::vector<uint8_t> four_ = std::vector<uint8_t>(size_t{4} * 8 * 64, 0xaa);  // 2, in both halves
  std::vector<float> scales_ = std::vector<float>(64, 0.5F), first_;
  std::vector<int32_t> sums_ = std::vector<int32_t>(64, 60);
  std::vector<uint16_t> group_scales_ = std::vector<uint16_t>(size_t{4} * 2 * 16, bf16(0.25F).bits);
  std::vector<int8_t> in_groups_ = std::vector<int8_t>(size_t{4} * 16 * 64, -128);
  std::vector<uint16_t> half_scales_ = std::vector<uint16_t>(size_t{4} * 2 * 16, half_from(0.5F));
  StoredType type_of_group_scales_ = StoredType::bf16;
  int64_t groups_ = 2;
  Weights held_;
};

TEST_F(PanelFile, IsReadWhereItIsMapped) {
  write();
  load();
  for (const float y : product_with_ones("eight")) {
    EXPECT_NEAR(y, 20 * 3 * 0.5F, 1e-4);
  }
  for (const float y : product_with_ones("four")) {
    EXPECT_NEAR(y, 64 * 2 * 0.25F, 1e-4);
  }
  for (const float y : product_with_ones("groups")) {
    EXPECT_NEAR(y, 64 * -128 * 0.5F, 1e-2);
  }
  EXPECT_EQ(held_.find("groups").bytes(), 64 * 64 + 64 * 2 * 2);
  std::ifstream maps("/proc/self/maps");
  const std::string all{std::istreambuf_iterator<char>(maps), {}};
  EXPECT_THAT(all, HasSubstr(path_.string()));
}

TEST_F(PanelFile, WithLargerGroupsHasFewerScales) {
  groups_ = 1;
  group_scales_.assign(size_t{4} * 16, bf16(2.0F).bits);
  write();
  load();
  for (const float y : product_with_ones("four")) {
    EXPECT_NEAR(y, 64 * 2 * 2.0F, 1e-3);
  }
}

TEST_F(PanelFile, OfFourBitsMayHaveScalesInF16) {
  type_of_group_scales_ = StoredType::f16;
  group_scales_.assign(group_scales_.size(), half_from(0.3F));  // which bf16 does not have
  write();
  load();
  for (const float y : product_with_ones("four")) {
    EXPECT_NEAR(y, 64 * 2 * from_half(half_from(0.3F)), 1e-4);
  }
  group_scales_[7] = 0x7c00;
  EXPECT_THAT(refusal(), HasSubstr("'four.scales' holds scales that are not finite"));
  type_of_group_scales_ = StoredType::i8;
  group_scales_.resize(group_scales_.size() / 2);
  EXPECT_THAT(refusal(), AllOf(HasSubstr("four.scales I8[4, 2, 16]"), HasSubstr("needs BF16[4, 2, 16]")));
}

TEST_F(PanelFile, StaysMappedAsLongAsItsWeights) {
  write();
  load();
  std::filesystem::remove(path_);
  EXPECT_NEAR(product_with_ones("eight").front(), 30.0F, 1e-4);
}

TEST_F(PanelFile, WithAnUnknownLayoutIsRefused) {
  EXPECT_THAT(refusal("panels-99"), AllOf(HasSubstr("'panels-99'"), HasSubstr("'panels-16'")));
}

TEST_F(PanelFile, WithAWrongTensorIsRefused) {
  scales_[3] = -1.0F;
  EXPECT_THAT(refusal(), HasSubstr("'eight.scales' holds a scale below 0"));
  scales_[3] = std::numeric_limits<float>::infinity();
  EXPECT_THAT(refusal(), HasSubstr("'eight.scales' holds a scale below 0, or one that is not finite"));
  scales_[3] = 1.0F;
  group_scales_[7] = 0x7fc0;
  EXPECT_THAT(refusal(), HasSubstr("'four.scales' holds scales that are not finite"));
  group_scales_[7] = 0;
  half_scales_[9] = 0xfc00;
  EXPECT_THAT(refusal(), HasSubstr("'groups.scales' holds scales that are not finite"));
  half_scales_[9] = 0;
  sums_.resize(63);
  EXPECT_THAT(refusal(), AllOf(HasSubstr("I32[63]"), HasSubstr("needs I32[64]")));
  sums_.clear();
  EXPECT_THAT(refusal(), HasSubstr("no tensor 'eight.sums'"));
  sums_.assign(64, 60);
  first_ = {0.5F};  // four bytes before all others
  EXPECT_THAT(refusal(), AllOf(HasSubstr("eight I8[4, 5, 16, 4]"), HasSubstr("multiple of 64 bytes")));
}

TEST_F(PanelFile, WithAnyByteChangedIsRefused) {
  write();
  const std::string whole = read_file(path_);
  const SafeTensors file(path_);
  std::vector<size_t> places;
  for (const StoredTensor& tensor : file.tensors()) {
    const size_t end = whole.size() - static_cast<size_t>(file.tensors().back().bytes.data() +
                                                          file.tensors().back().bytes.size() - tensor.bytes.data());
    places.insert(places.end(), {end, end + tensor.bytes.size() - 1});
  }
  for (const size_t place : places) {
    std::string edited = whole;
    edited[place] = static_cast<char>(edited[place] ^ 1);
    write_file(path_, edited);
    try {
      load();
      ADD_FAILURE() << "byte " << place << " went unnoticed";
    } catch (const FormatError& error) {
      EXPECT_THAT(error.what(), HasSubstr("was damaged or edited"));
    }
  }
}

// A file with matrices of 16-bit floats in panels, each with ones in column 0 and twos in column 4.
class HalfPanelFile : public PanelFile {
 protected:
  void SetUp() override {
    held_.add("brain", {40, 5}, WeightUse::product, Initialization::zeros());
    held_.add("half", {40, 5}, WeightUse::product_and_table, Initialization::zeros());
    std::filesystem::create_directories(path_.parent_path());
    for (size_t row = 0; row < 64; ++row) {
      for (const auto& [column, value] : {std::pair<size_t, float>{0, 1.0F}, {4, 2.0F}}) {
        const size_t at = row / 32 * 3 * 64 + column / 2 * 64 + row % 32 * 2 + column % 2;
        brain_[at] = bf16(value).bits;
        half_[at] = half_from(value);
      }
    }
  }
  std::string refusal_of_halves(const std::string& layout = "pairs-32") {
    write_halves(layout);
    return refusal_of_file();
  }
  void write_halves(const std::string& layout = "pairs-32") const {
    const std::vector<TensorSource> tensors{
        tensor_source("brain", StoredType::bf16, {2, 3, 32, 2}, std::as_bytes(std::span(brain_))),
        tensor_source("half", StoredType::f16, {2, 3, 32, 2}, std::as_bytes(std::span(half_)))};
    write_checked_safetensors(path_, tensors, {{"heed_half_layout", layout}});
  }

  std::vector<uint16_t> brain_ = std::vector<uint16_t>(size_t{2} * 3 * 64, 0);
  std::vector<uint16_t> half_ = brain_;
};

TEST_F(HalfPanelFile, IsReadWhereItIsMapped) {
  write_halves();
  load();
  for (const char* const name : {"brain", "half"}) {
    for (const float y : product_with_ones(name)) {
      EXPECT_EQ(y, 3.0F) << name;
    }
    EXPECT_EQ(held_.find(name).bytes(), 64 * 6 * 2);
  }
  std::ifstream maps("/proc/self/maps");
  const std::string all{std::istreambuf_iterator<char>(maps), {}};
  EXPECT_THAT(all, HasSubstr(path_.string()));
}

TEST_F(HalfPanelFile, IsRefusedWhereAValueIsNotFinite) {
  brain_[7] = 0x7f80;
  EXPECT_THAT(refusal_of_halves(), HasSubstr("'brain' hold values that are not finite"));
  brain_[7] = 0;
  half_[9] = 0xfc00;
  EXPECT_THAT(refusal_of_halves(), HasSubstr("'half' hold values that are not finite"));
}

TEST_F(HalfPanelFile, IsRefusedInALayoutThatIsNotKnown) {
  EXPECT_THAT(refusal_of_halves("pairs-64"), AllOf(HasSubstr("16-bit floats"), HasSubstr("'pairs-64'")));
}

}  // namespace
}  // namespace heed
