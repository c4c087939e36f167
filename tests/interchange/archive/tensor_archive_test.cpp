#include "interchange/archive/tensor_archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "archive_files.h"
#include "base/errors.h"
#include "tensor/half.h"

namespace heed {
namespace {

using test::Bytes;
using testing::ElementsAre;
using testing::HasSubstr;

ArchiveTensor tensor_of(ForeignType type, std::vector<int64_t> shape, const std::string& bytes) {
  return {"t", type, std::move(shape), test::as_span(bytes)};
}

std::vector<float> floats_of(ForeignType type, int64_t count, const std::string& bytes) {
  return read_floats(tensor_of(type, {count}, bytes));
}

TEST(ReadFloats, ConvertsEveryTypeOfElements) {
  EXPECT_THAT(floats_of(ForeignType::f32, 2, Bytes().add(1.5F).add(-2.0F).text), ElementsAre(1.5F, -2.0F));
  EXPECT_THAT(floats_of(ForeignType::f64, 1, Bytes().add(0.1).text), ElementsAre(0.1F));
  EXPECT_THAT(floats_of(ForeignType::f16, 2, Bytes().add(half_from(0.5F)).add(half_from(-3.0F)).text),
              ElementsAre(0.5F, -3.0F));
  EXPECT_THAT(floats_of(ForeignType::bf16, 1, Bytes().add(bf16(7.0F).bits).text), ElementsAre(7.0F));
  EXPECT_THAT(floats_of(ForeignType::boolean, 2, Bytes().add(uint8_t{0}).add(uint8_t{255}).text),
              ElementsAre(0.0F, 1.0F));
  EXPECT_THAT(floats_of(ForeignType::i8, 1, Bytes().add(int8_t{-128}).text), ElementsAre(-128.0F));
  EXPECT_THAT(floats_of(ForeignType::u8, 1, Bytes().add(uint8_t{200}).text), ElementsAre(200.0F));
  EXPECT_THAT(floats_of(ForeignType::i16, 1, Bytes().add(int16_t{-1024}).text), ElementsAre(-1024.0F));
  EXPECT_THAT(floats_of(ForeignType::u16, 1, Bytes().add(uint16_t{65535}).text), ElementsAre(65535.0F));
  EXPECT_THAT(floats_of(ForeignType::i32, 1, Bytes().add(int32_t{-70000}).text), ElementsAre(-70000.0F));
  EXPECT_THAT(floats_of(ForeignType::u32, 1, Bytes().add(uint32_t{70000}).text), ElementsAre(70000.0F));
  EXPECT_THAT(floats_of(ForeignType::i64, 1, Bytes().add(int64_t{-5}).text), ElementsAre(-5.0F));
  EXPECT_THAT(floats_of(ForeignType::u64, 1, Bytes().add(uint64_t{5}).text), ElementsAre(5.0F));
}

TEST(ReadFloats, KnowsBothFormsOfEightBits) {
  // e4m3: 1.0, the largest, the smallest, NaN; e5m2: 1.0, the largest, infinity, NaN.
  std::vector<float> found = floats_of(ForeignType::f8_e4m3, 4, "\x38\x7e\x81\x7f");
  EXPECT_THAT(std::vector(found.begin(), found.end() - 1), ElementsAre(1.0F, 448.0F, -0x1p-9F));
  EXPECT_TRUE(std::isnan(found.back()));
  found = floats_of(ForeignType::f8_e5m2, 4, "\x3c\x7b\xfc\x7d");
  EXPECT_THAT(std::vector(found.begin(), found.end() - 1),
              ElementsAre(1.0F, 57344.0F, -std::numeric_limits<float>::infinity()));
  EXPECT_TRUE(std::isnan(found.back()));
}

TEST(ReadFloats, ReadsAnyRunOfLongTensors) {
  Bytes bytes;
  bytes.text = "x";  // not aligned
  for (int i = 0; i < 1000; ++i) {
    bytes.add(static_cast<int16_t>(i));
  }
  const ArchiveTensor tensor{"t", ForeignType::i16, {10, 100}, test::as_span(bytes.text).subspan(1)};
  for (const int64_t first : {0, 1, 255, 700}) {
    std::vector<float> run(static_cast<size_t>(std::min<int64_t>(1000 - first, 600)));
    read_floats(tensor, first, run);
    for (size_t i = 0; i < run.size(); ++i) {
      ASSERT_EQ(run[i], static_cast<float>(first + static_cast<int64_t>(i)));
    }
  }
  std::vector<float> beyond(11);
  EXPECT_THROW(read_floats(tensor, 990, beyond), ShapeError);
  EXPECT_THROW(read_floats(tensor, -1, beyond), ShapeError);
}

TEST(ReadFloats, DividesIntegersByTheirRowsScale) {
  const std::string integers = "\x01\x02\x03\x04\x05\x06", scales = Bytes().add(2.0F).add(0.5F).text;
  ArchiveTensor tensor = tensor_of(ForeignType::i8, {2, 3}, integers);
  tensor.divisors = test::as_span(scales);
  EXPECT_THAT(read_floats(tensor), ElementsAre(0.5F, 1.0F, 1.5F, 8.0F, 10.0F, 12.0F));
  std::vector<float> run(2);
  read_floats(tensor, 2, run);
  EXPECT_THAT(run, ElementsAre(1.5F, 8.0F));
  tensor.divisors = tensor.divisors.first(4);
  EXPECT_THAT(read_floats(tensor), ElementsAre(0.5F, 1.0F, 1.5F, 2.0F, 2.5F, 3.0F));
}

TEST(BytesOfForeignTypes, AreNoneForProductsThatOverflowAndForBrokenBlocks) {
  EXPECT_EQ(bytes_of(ForeignType::q4_k, std::vector<int64_t>{3, 512}), 3 * 2 * 144);
  EXPECT_EQ(bytes_of(ForeignType::f64, std::vector<int64_t>{}), 8);
  EXPECT_EQ(bytes_of(ForeignType::f32, std::vector<int64_t>{5, 0}), 0);
  EXPECT_EQ(bytes_of(ForeignType::q4_k, std::vector<int64_t>{4, 128}), std::nullopt);
  EXPECT_EQ(bytes_of(ForeignType::f32, std::vector<int64_t>{int64_t{1} << 32, int64_t{1} << 31}), std::nullopt);
  EXPECT_EQ(bytes_of(ForeignType::f32, std::vector<int64_t>{int64_t{1} << 61}), std::nullopt);
  EXPECT_EQ(bytes_of(ForeignType::f32, std::vector<int64_t>{-1}), std::nullopt);
}

TEST(TensorArchive, RefusesNamesAndAliasesThatOccurTwice) {
  TensorArchive archive("a file");
  const size_t file = archive.add_file("a file", nullptr);
  const std::string bytes(8, 'x');
  archive.add({"t", ForeignType::f32, {2}, test::as_span(bytes), file});
  const auto message_of = [&](auto&& body) -> std::string {
    try {
      body();
    } catch (const FormatError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(message_of([&] {
                archive.add({"t", ForeignType::f32, {2}, test::as_span(bytes), file});
              }),
              HasSubstr("a file: tensor 't' occurs twice"));
  EXPECT_THAT(message_of([&] {
                archive.add({"u", ForeignType::f32, {3}, test::as_span(bytes), file});
              }),
              HasSubstr("u F32[3] takes 12 bytes, but the file has 8"));
  archive.add_alias("tied", "t");
  EXPECT_EQ(archive.find("tied"), archive.find("t"));
  EXPECT_THAT(message_of([&] { archive.add_alias("tied", "t"); }), HasSubstr("occurs twice"));
  EXPECT_THAT(message_of([&] { archive.add_alias("other", "absent"); }), HasSubstr("not there"));
  EXPECT_THAT(message_of([&] { archive.at("absent"); }), HasSubstr("a file: there is no tensor 'absent'"));
}

}  // namespace
}  // namespace heed
