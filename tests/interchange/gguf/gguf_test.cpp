#include "interchange/gguf/gguf.h"
#include "base/rounding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/errors.h"
#include "base/system/files.h"
#include "tensor/half.h"
#include "test_folder.h"

namespace heed {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::SizeIs;

uint16_t half_at(const std::vector<std::byte>& bytes, size_t at) {
  uint16_t half = 0;
  std::memcpy(&half, bytes.data() + at, sizeof(half));
  return half;
}

int signed_at(const std::vector<std::byte>& bytes, size_t at) {
  return static_cast<int8_t>(std::to_integer<uint8_t>(bytes[at]));
}

// Values of both signs, of different sizes from block to block.
std::vector<float> some_values(size_t blocks) {
  std::vector<float> values;
  for (size_t i = 0; i < blocks * kGgufBlock; ++i) {
    const auto x = static_cast<float>(i);
    values.push_back(std::sin(x * 1.7F) * std::exp(std::cos(x / 40.0F) * 3.0F));
  }
  return values;
}

TEST(GgufBlocks, EightBitsAreAScaleAndThirtyTwoIntegers) {
  std::vector<float> block(kGgufBlock, 0.25F);
  block[0] = 63.5F;  // of a scale of 0.5
  block[31] = -63.5F;
  const std::vector<std::byte> bytes = gguf_blocks(GgufType::q8_0, block, "w");
  ASSERT_THAT(bytes, SizeIs(34));
  EXPECT_EQ(half_at(bytes, 0), half_from(0.5F));
  EXPECT_EQ(signed_at(bytes, 2), 127);
  EXPECT_EQ(signed_at(bytes, 3), 1);  // a half is rounded away from zero
  EXPECT_EQ(signed_at(bytes, 33), -127);
}

TEST(GgufBlocks, FourBitsAreAScaleAndThePairsOfTheHalves) {
  std::vector<float> block(kGgufBlock, 0.0F);
  block[0] = -16.0F;  // of a scale of 2
  block[1] = 14.0F;
  block[16] = 2.0F;
  block[17] = -4.0F;
  const std::vector<std::byte> bytes = gguf_blocks(GgufType::q4_0, block, "w");
  ASSERT_THAT(bytes, SizeIs(18));
  EXPECT_EQ(half_at(bytes, 0), half_from(2.0F));
  EXPECT_EQ(std::to_integer<int>(bytes[2]), 0 | 9 << 4);
  EXPECT_EQ(std::to_integer<int>(bytes[3]), 15 | 6 << 4);
  EXPECT_EQ(std::to_integer<int>(bytes[4]), 8 | 8 << 4);
}

TEST(GgufBlocks, RoundedValuesAreWithinHalfAStep) {
  const std::vector<float> values = some_values(20);
  const std::vector<std::byte> eight = gguf_blocks(GgufType::q8_0, values, "w");
  const std::vector<std::byte> four = gguf_blocks(GgufType::q4_0, values, "w");
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t block = i / kGgufBlock, in_block = i % kGgufBlock;
    const float step = from_half(half_at(eight, block * 34));
    EXPECT_NEAR(static_cast<float>(signed_at(eight, block * 34 + 2 + in_block)) * step, values[i], 0.57F * step) << i;
    const float coarse = from_half(half_at(four, block * 18));
    const auto pair = std::to_integer<uint32_t>(four[block * 18 + 2 + in_block % 16]);
    const auto whole = static_cast<float>(in_block < 16 ? pair & 15U : pair >> 4U) - 8.0F;
    // The largest number of one sign is 7, of the other 8.
    EXPECT_NEAR(whole * coarse, values[i], 1.01F * std::abs(coarse)) << i;
    EXPECT_TRUE(std::abs(whole * coarse - values[i]) <= 0.51F * std::abs(coarse) || whole == 7.0F) << i;
  }
}

TEST(GgufBlocks, ABlockOfZerosOrOfTinyValuesIsZero) {
  for (const float tiny : {0.0F, 1e-30F}) {
    const std::vector<float> block(kGgufBlock, tiny);
    EXPECT_THAT(gguf_blocks(GgufType::q8_0, block, "w"), Each(std::byte{0}));
    const std::vector<std::byte> four = gguf_blocks(GgufType::q4_0, block, "w");
    EXPECT_EQ(half_at(four, 0) & 0x7fff, 0);
    EXPECT_EQ(std::to_integer<int>(four[5]), 8 | 8 << 4);
  }
}

TEST(GgufBlocks, ValuesBeyondF16AreRefusedByName) {
  for (const GgufType type : {GgufType::f16, GgufType::q8_0, GgufType::q4_0}) {
    try {
      gguf_blocks(type, std::vector<float>(kGgufBlock, 1e7F), "blk.0.ffn_up.weight");
      ADD_FAILURE() << name_of(type);
    } catch (const ConfigError& error) {
      EXPECT_THAT(error.what(), HasSubstr("blk.0.ffn_up.weight: "));
      EXPECT_THAT(error.what(), HasSubstr("export it as f32"));
    }
  }
}

class GgufFile : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }

  std::filesystem::path path_ = test::folder_of_test();
};

TEST_F(GgufFile, EveryByteIsWhereTheFormatPutsIt) {
  const std::vector<GgufEntry> entries{{"a", true}, {"bc", std::vector<std::string>{"x", ""}}};
  const GgufTensor tensor{"t", {1, 3}, GgufType::f32, [] { return std::vector<float>{1.0F, 2.0F, 3.0F}; }};
  const int64_t bytes = write_gguf(path_, entries, std::vector{tensor, tensor});
  using namespace std::string_literals;
  const std::string zeros(7, '\0');
  std::string expected = "GGUF\3\0\0\0\2"s + zeros + "\2" + zeros;
  expected += "\1"s + zeros + "a" + "\7\0\0\0\1"s;                     // a bool
  expected += "\2"s + zeros + "bc" + "\x9\0\0\0\x8\0\0\0\2"s + zeros;  // an array of two texts
  expected += "\1"s + zeros + "x" + "\0"s + zeros;                     // "x", ""
  const std::string info = "\1"s + zeros + "t" + "\2\0\0\0\3"s + zeros + "\1" + zeros + "\0\0\0\0"s;  // columns first
  expected += info + "\0"s + zeros + info + "\x20"s + zeros;
  expected.resize(round_up(expected.size(), 32));
  const std::string values = "\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40"s + std::string(20, '\0');
  expected += values + values;
  EXPECT_EQ(read_file(path_), expected);
  EXPECT_EQ(bytes, static_cast<int64_t>(expected.size()));
}

TEST_F(GgufFile, AFileWithAWrongTensorIsNotWritten) {
  const GgufTensor tensor{"t", {2, 3}, GgufType::f32, [] { return std::vector<float>(5); }};
  EXPECT_THROW(write_gguf(path_, {}, std::vector{tensor}), ShapeError);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

}  // namespace
}  // namespace heed
