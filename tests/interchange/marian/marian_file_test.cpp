#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.h"
#include "base/system/files.h"
#include "interchange/marian/model_file.h"
#include "interchange/marian/npz.h"
#include "marian_bytes.h"
#include "source_root.h"
#include "test_folder.h"

namespace heed {
namespace {

using test::Bytes;
using test::MarianBytes;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr uint64_t kFloat = 0x404, kIntgemm8 = 0x4101, kIntgemm8Newer = 0x10001, kIntgemm16 = 0x10002, kInt8 = 0x101;

class MarianReading : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }

  MarianFile open(const std::string& bytes) const {
    test::write_bytes(path_, bytes);
    return open_marian_file(path_);
  }
  template <class Body>
  static std::string message_of(Body&& body) {
    try {
      body();
    } catch (const FormatError& error) {
      return error.what();
    }
    return "";
  }
  std::string refusal(const MarianBytes& bytes) const {
    return message_of([&] { open(bytes.all()); });
  }
  static std::string refusal_of_golden(const std::string& name) {
    return message_of([&] { open_marian_file(test::source_root() / "tests/interchange/golden/marian" / name); });
  }

  std::filesystem::path path_ = test::folder_of_test();
};

TEST_F(MarianReading, ArraysOfNumPyAreTensors) {
  const MarianFile file = open_marian_file(test::source_root() / "tests/interchange/golden/marian/model.npz");
  EXPECT_EQ(file.settings, "type: transformer\ndim-emb: 4\ndim-vocabs:\n  - 3\n  - 3\n");
  ASSERT_EQ(file.tensors.tensors().size(), 4U);
  EXPECT_THAT(file.tensors.at("encoder_l1_self_Wq").shape, ElementsAre(2, 3));
  EXPECT_THAT(read_floats(file.tensors.at("encoder_l1_self_Wq")), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(read_floats(file.tensors.at("Wemb")), ElementsAre(1, -2));
  EXPECT_THAT(read_floats(file.tensors.at("counts")), ElementsAre(3, 4));
  EXPECT_THAT(file.tensors.at("scalar").shape, IsEmpty());
  file.tensors.give_back(file.tensors.at("counts").bytes);
  EXPECT_THAT(read_floats(file.tensors.at("counts")), ElementsAre(3, 4));
}

TEST_F(MarianReading, OtherArraysOfNumPyAreRefused) {
  EXPECT_THAT(refusal_of_golden("compressed.npz"), HasSubstr("the entry a.npy is compressed"));
  EXPECT_THAT(refusal_of_golden("fortran.npz"), HasSubstr("array 'a': is in the order of Fortran"));
  EXPECT_THAT(refusal_of_golden("big_endian.npz"), HasSubstr("its elements are '>f4', which heed does not read"));
}

std::string npy(const std::string& header, const std::string& data = std::string(12, '\0')) {
  return Bytes()
      .add(std::string_view("\x93NUMPY\x01\x00", 8))
      .add(static_cast<uint16_t>(header.size()))
      .add(std::string_view(header))
      .add(std::string_view(data))
      .text;
}

TEST_F(MarianReading, BrokenHeadersOfArraysAreRefused) {
  const auto read = [](const std::string& bytes) {
    const ArchiveTensor tensor = read_npy("a", test::as_span(bytes), 0, "f");
    TensorArchive archive("f");
    archive.add_file("f", nullptr);
    archive.add(tensor);
  };
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }";
  EXPECT_EQ(message_of([&] { read(npy(good)); }), "");
  for (const std::string& bad :
       {std::string("{}"), std::string("{'descr': '<f4'}"), good.substr(0, 40), good.substr(1),
        std::string("{'descr': '<f4', 'fortran_order': False, 'shape': (-3,), }"),
        std::string("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }"),
        std::string("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (3,), }"),
        std::string("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,), }")}) {
    EXPECT_THAT(message_of([&] { read(npy(bad)); }), HasSubstr("its header is not one of NumPy")) << bad;
  }
  EXPECT_THAT(message_of([&] { read(npy("{'descr': '|O', 'fortran_order': False, 'shape': (3,), }")); }),
              HasSubstr("its elements are '|O'"));
  EXPECT_THAT(message_of([&] { read(npy(good, "short")); }), HasSubstr("takes 12 bytes, but the file has 5"));
  EXPECT_THAT(
      message_of([&] { read(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }")); }),
      HasSubstr("more than any file holds"));
}

TEST_F(MarianReading, ItemsOfABinAreTensors) {
  const MarianFile file = open(MarianBytes{.items = {{"b", kFloat, {1, 2}, Bytes().add(1.5F).add(-2.0F).text},
                                                     {"special:model.yml", kInt8, {8}, std::string("dim: 4\n\0", 8)},
                                                     {"c", kFloat, {1}, Bytes().add(4.0F).text}}}
                                   .all());
  EXPECT_EQ(file.settings, "dim: 4\n");
  ASSERT_EQ(file.tensors.tensors().size(), 2U);
  EXPECT_THAT(read_floats(file.tensors.at("b")), ElementsAre(1.5F, -2));
  EXPECT_THAT(read_floats(file.tensors.at("c")), ElementsAre(4));
}

// A matrix of two inputs and three outputs lies turned over, a table of embeddings does not.
TEST_F(MarianReading, IntegersAreDividedByTheMultiplierAfterThem) {
  const std::string six = "\x02\x04\x06\xfe\xfc\xfa" + Bytes().add(2.0F).text;
  const std::string wide = Bytes().add(int16_t{1024}).add(int16_t{-512}).add(1024.0F).text;
  const MarianFile file = open(MarianBytes{.items = {{"l1_Wq", kIntgemm8, {2, 3}, six},
                                                     {"encoder_Wemb", kIntgemm8Newer, {3, 2}, six},
                                                     {"l1_W1", kIntgemm16, {2, 1}, wide}}}
                                   .all());
  EXPECT_THAT(file.tensors.at("l1_Wq").shape, ElementsAre(3, 2));
  EXPECT_THAT(read_floats(file.tensors.at("l1_Wq")), ElementsAre(1, 2, 3, -1, -2, -3));
  EXPECT_THAT(file.tensors.at("encoder_Wemb").shape, ElementsAre(3, 2));
  EXPECT_THAT(read_floats(file.tensors.at("encoder_Wemb")), ElementsAre(1, 2, 3, -1, -2, -3));
  EXPECT_THAT(read_floats(file.tensors.at("l1_W1")), ElementsAre(1, -0.5F));
}

TEST_F(MarianReading, MatricesForOneProcessorAreRefusedByName) {
  for (const auto& [type, name] : std::vector<std::pair<uint64_t, std::string>>{{0x11001, "intgemm8avx2"},
                                                                                {0x12001, "intgemm8avx512"},
                                                                                {0x13001, "intgemm8avx512vnni"},
                                                                                {0x18001, "intgemm8ssse3"},
                                                                                {0x2801, "packed8avx512"}}) {
    EXPECT_THAT(refusal({.items = {{"W", type, {1, 4}, "abcd"}}}), HasSubstr("tensor 'W' is " + name + ", arranged"));
  }
  EXPECT_THAT(refusal({.items = {{"W", 0x999, {1, 4}, "abcd"}}}), HasSubstr("is of type 0x999, which is unknown"));
}

TEST_F(MarianReading, WhatABinDoesNotAllowIsRefused) {
  EXPECT_THAT(refusal({.version = 2}), HasSubstr("is encrypted"));
  EXPECT_THAT(refusal({.version = 3}), HasSubstr("is of version 3, expected 1"));
  EXPECT_THAT(refusal({.count = uint64_t{1} << 60}), HasSubstr("tensors, but only"));
  EXPECT_THAT(refusal({.items = {{"W", kFloat, {0}, "abcd"}}}), HasSubstr("'W' has an extent of 0"));
  EXPECT_THAT(refusal({.items = {{"W", kFloat, {-4}, "abcd"}}}), HasSubstr("'W' has an extent of -4"));
  EXPECT_THAT(refusal({.items = {{"W", kFloat, {65}, "abcd"}}}), HasSubstr("float32[65] is more than its 256 bytes"));
  EXPECT_THAT(refusal({.items = {{"W", kFloat, {INT32_MAX, INT32_MAX, INT32_MAX}, "abcd"}}}),
              HasSubstr("is more than"));
  EXPECT_THAT(refusal({.items = {{"W", kIntgemm8, {2, 128}, std::string(256, 'x')}}}), HasSubstr("no multiplier"));
  EXPECT_THAT(refusal({.items = {{"W", kFloat, {1}, "abcd"}, {"W", kFloat, {1}, "abcd"}}}),
              HasSubstr("'W' occurs twice"));
  EXPECT_THAT(refusal({.items = {{"W", kFloat, {1}, "abcd"}}, .padding = 100000}), HasSubstr("the padding"));
  EXPECT_THAT(refusal({.items = {{"W", kFloat, {1}, "abcd"}}, .name_bytes = 0}), HasSubstr("a name of 0 bytes"));
  EXPECT_THAT(refusal({.items = {{"Wx", kFloat, {1}, "abcd"}}, .name_bytes = 2}), HasSubstr("ends in a zero byte"));
  EXPECT_THAT(refusal({.items = {{"W", kFloat, {1}, "abcd"}}, .data_bytes = UINT64_MAX}),
              HasSubstr("tensor 'W' takes"));
}

TEST_F(MarianReading, EveryTruncationOfABinIsRefused) {
  const std::string whole =
      MarianBytes{.items = {{"W", kFloat, {1}, "abcd"}, {"b", kFloat, {64}, std::string(256, 'x')}}}.all();
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THROW(open(whole.substr(0, size)), FormatError) << size;
  }
  open(whole);
}

}  // namespace
}  // namespace heed
