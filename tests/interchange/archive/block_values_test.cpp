// Each format of blocks against values that are put in: an encoder here sets every field at a place that the format's
// description gives, one bit field after the other, and the expected values come from its formula in double.
#include "interchange/archive/block_values.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "archive_files.h"
#include "interchange/archive/tensor_archive.h"
#include "tensor/half.h"

namespace heed {
namespace {

struct EncodedBlock {
  std::string bytes;
  std::vector<double> values;
};

class BlockEncoder {
 public:
  explicit BlockEncoder(uint32_t seed) : random_(seed) {}

  int below(int bound) { return static_cast<int>(random_() % static_cast<uint32_t>(bound)); }
  // A number that f16 holds.
  float half() { return static_cast<float>(below(2000) - 1000) / 1024.0F; }

 private:
  std::mt19937 random_;
};

void put_half(std::string& bytes, size_t at, float x) {
  const uint16_t half = half_from(x);
  std::memcpy(bytes.data() + at, &half, sizeof half);
}

void or_bits(std::string& bytes, size_t at, int bits) {
  bytes[at] = static_cast<char>(static_cast<uint8_t>(bytes[at]) | static_cast<uint32_t>(bits));
}

// Value i's lower four bits: in the lower half of byte i, or of i - 16 in the upper half.
void put_nibble(std::string& bytes, size_t begin, size_t i, int q) {
  or_bits(bytes, begin + i % 16, i < 16 ? q : q << 4);
}

EncodedBlock four_bits(BlockEncoder& draw, bool with_minimum) {
  EncodedBlock block{std::string(with_minimum ? 20 : 18, '\0'), {}};
  const float d = draw.half(), m = draw.half();
  put_half(block.bytes, 0, d);
  if (with_minimum) {
    put_half(block.bytes, 2, m);
  }
  for (size_t i = 0; i < 32; ++i) {
    const int q = draw.below(16);
    put_nibble(block.bytes, with_minimum ? 4 : 2, i, q);
    block.values.push_back(with_minimum ? double(d) * q + m : double(d) * (q - 8));
  }
  return block;
}

EncodedBlock five_bits_each(BlockEncoder& draw, bool with_minimum) {
  EncodedBlock block{std::string(with_minimum ? 24 : 22, '\0'), {}};
  const size_t fifth = with_minimum ? 4 : 2;
  const float d = draw.half(), m = draw.half();
  put_half(block.bytes, 0, d);
  if (with_minimum) {
    put_half(block.bytes, 2, m);
  }
  for (size_t i = 0; i < 32; ++i) {
    const int q = draw.below(32);
    put_nibble(block.bytes, fifth + 4, i, q & 15);
    or_bits(block.bytes, fifth + i / 8, q >> 4 << (i % 8));
    block.values.push_back(with_minimum ? double(d) * q + m : double(d) * (q - 16));
  }
  return block;
}

EncodedBlock eight_bits(BlockEncoder& draw) {
  EncodedBlock block{std::string(34, '\0'), {}};
  const float d = draw.half();
  put_half(block.bytes, 0, d);
  for (size_t i = 0; i < 32; ++i) {
    const int q = draw.below(256) - 128;
    block.bytes[2 + i] = static_cast<char>(q);
    block.values.push_back(double(d) * q);
  }
  return block;
}

// The 12 bytes of eight scales and eight minima: byte i is bits 0-5 of scale i and 4-5 of scale i + 4; byte 4 + i the
// same of the minima; byte 8 + i bits 0-3 of scale i + 4 below those of minimum i + 4.
void put_six_bits(std::string& bytes, size_t begin, const std::vector<int>& scales, const std::vector<int>& minima) {
  for (size_t i = 0; i < 4; ++i) {
    or_bits(bytes, begin + i, scales[i] | scales[i + 4] >> 4 << 6);
    or_bits(bytes, begin + 4 + i, minima[i] | minima[i + 4] >> 4 << 6);
    or_bits(bytes, begin + 8 + i, (scales[i + 4] & 15) | (minima[i + 4] & 15) << 4);
  }
}

EncodedBlock k_bits(BlockEncoder& draw, int bits) {
  EncodedBlock block{std::string(bits == 4 ? 144 : 176, '\0'), {}};
  const float d = draw.half(), dmin = draw.half();
  put_half(block.bytes, 0, d);
  put_half(block.bytes, 2, dmin);
  std::vector<int> scales, minima;
  for (int i = 0; i < 8; ++i) {
    scales.push_back(draw.below(64));
    minima.push_back(draw.below(64));
  }
  put_six_bits(block.bytes, 4, scales, minima);
  const size_t fifth = 16, lower = bits == 4 ? 16 : 48;
  for (size_t i = 0; i < 256; ++i) {
    const int q = draw.below(1 << bits);
    const size_t group = i / 32, in_group = i % 32;
    or_bits(block.bytes, lower + group / 2 * 32 + in_group, (q & 15) << (group % 2 * 4));
    if (bits == 5) {
      or_bits(block.bytes, fifth + in_group, q >> 4 << group);
    }
    block.values.push_back(double(d) * scales[group] * q - double(dmin) * minima[group]);
  }
  return block;
}

EncodedBlock six_bits_k(BlockEncoder& draw) {
  EncodedBlock block{std::string(210, '\0'), {}};
  const float d = draw.half();
  put_half(block.bytes, 208, d);
  std::vector<int> scales;
  for (size_t i = 0; i < 16; ++i) {
    scales.push_back(draw.below(256) - 128);
    block.bytes[192 + i] = static_cast<char>(scales[i]);
  }
  for (size_t i = 0; i < 256; ++i) {
    const int q = draw.below(64);
    const size_t half = i / 128, in_half = i % 128;
    or_bits(block.bytes, half * 64 + in_half % 64, (q & 15) << (in_half / 64 * 4));
    or_bits(block.bytes, 128 + half * 32 + in_half % 32, q >> 4 << (in_half / 32 * 2));
    block.values.push_back(double(d) * scales[i / 16] * (q - 32));
  }
  return block;
}

void expect_read(ForeignType type, const std::function<EncodedBlock(BlockEncoder&)>& encode) {
  BlockEncoder draw(static_cast<uint32_t>(type));
  std::string bytes;
  std::vector<double> wanted;
  for (int i = 0; i < 40; ++i) {
    const EncodedBlock block = encode(draw);
    bytes += block.bytes;
    wanted.insert(wanted.end(), block.values.begin(), block.values.end());
  }
  const ArchiveTensor tensor{"t", type, {2, static_cast<int64_t>(wanted.size()) / 2}, test::as_span(bytes)};
  ASSERT_EQ(bytes_of(type, tensor.shape), static_cast<int64_t>(bytes.size())) << name_of(type);
  const std::vector<float> found = read_floats(tensor);
  double largest = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    ASSERT_NEAR(found[i], wanted[i], 1e-6 * (1 + std::abs(wanted[i]) + 64)) << name_of(type) << " " << i;
    largest = std::max(largest, std::abs(wanted[i]));
  }
  EXPECT_GT(largest, 1.0);
  // Runs that begin and end within blocks.
  for (const size_t first : {size_t{0}, size_t{1}, size_t{255}, size_t{300}}) {
    std::vector<float> run(700);
    read_floats(tensor, static_cast<int64_t>(first), run);
    ASSERT_TRUE(std::equal(run.begin(), run.end(), found.begin() + static_cast<ptrdiff_t>(first))) << name_of(type);
  }
}

TEST(BlockValues, OfFourBits) {
  expect_read(ForeignType::q4_0, [](BlockEncoder& draw) { return four_bits(draw, false); });
  expect_read(ForeignType::q4_1, [](BlockEncoder& draw) { return four_bits(draw, true); });
}

TEST(BlockValues, OfFiveBits) {
  expect_read(ForeignType::q5_0, [](BlockEncoder& draw) { return five_bits_each(draw, false); });
  expect_read(ForeignType::q5_1, [](BlockEncoder& draw) { return five_bits_each(draw, true); });
}

TEST(BlockValues, OfEightBits) { expect_read(ForeignType::q8_0, eight_bits); }

TEST(BlockValues, OfFourAndFiveBitsWithScalesOfScales) {
  expect_read(ForeignType::q4_k, [](BlockEncoder& draw) { return k_bits(draw, 4); });
  expect_read(ForeignType::q5_k, [](BlockEncoder& draw) { return k_bits(draw, 5); });
}

TEST(BlockValues, OfSixBitsWithScalesOfScales) { expect_read(ForeignType::q6_k, six_bits_k); }

}  // namespace
}  // namespace heed
