#include "interchange/gguf/gguf_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.h"
#include "base/system/files.h"
#include "gguf_bytes.h"
#include "interchange/gguf/gguf.h"
#include "test_folder.h"

namespace heed {
namespace {

using test::Bytes;
using test::gguf_number;
using test::gguf_pair;
using test::gguf_text;
using test::GgufBytes;
using test::GgufTensorBytes;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr uint32_t kU8 = 0, kU32 = 4, kI32 = 5, kF32 = 6, kBoolean = 7, kText = 8, kArray = 9, kU64 = 10, kF64 = 12;

class GgufReading : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }

  GgufFile open(const GgufBytes& bytes) const {
    write_file(path_, bytes.all());
    return open_gguf(path_);
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
  std::string refusal(const GgufBytes& bytes) const {
    return message_of([&] { open(bytes); });
  }
  std::string refusal_of_tensor(const GgufTensorBytes& tensor) const {
    return refusal({.tensors = {tensor.all()}, .data = std::string(64, '\0')});
  }

  std::filesystem::path path_ = test::folder_of_test();
};

std::string three_floats() { return Bytes().add(1.0F).add(2.0F).add(3.0F).text; }

TEST_F(GgufReading, WhatTheWriterWroteReadsBack) {
  std::vector<float> values(64);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(i) - 30.0F;
  }
  const std::vector<GgufEntry> entries{{"a.flag", true},
                                       {"a.count", uint32_t{7}},
                                       {"a.factor", 0.5F},
                                       {"a.name", std::string("llama")},
                                       {"a.ids", std::vector<int32_t>{3, -1}},
                                       {"a.scores", std::vector<float>{-0.5F}},
                                       {"a.tokens", std::vector<std::string>{"x", ""}}};
  std::vector<GgufTensor> tensors;
  for (const GgufType type : {GgufType::f32, GgufType::f16, GgufType::q8_0, GgufType::q4_0}) {
    tensors.push_back({std::string(name_of(type)), {2, 32}, type, [&] { return values; }});
  }
  write_gguf(path_, entries, tensors);
  EXPECT_TRUE(is_gguf(path_));
  const GgufFile file = open_gguf(path_);
  EXPECT_TRUE(file.metadata.boolean("a.flag"));
  EXPECT_EQ(file.metadata.integer("a.count"), 7);
  EXPECT_EQ(file.metadata.real("a.factor"), 0.5);
  EXPECT_EQ(file.metadata.text("a.name"), "llama");
  EXPECT_THAT(file.metadata.integers("a.ids"), ElementsAre(3, -1));
  EXPECT_THAT(file.metadata.reals("a.scores"), ElementsAre(-0.5F));
  EXPECT_THAT(file.metadata.texts("a.tokens"), ElementsAre("x", ""));
  ASSERT_EQ(file.tensors.tensors().size(), 4U);
  EXPECT_EQ(read_floats(file.tensors.at("f32")), values);
  EXPECT_EQ(read_floats(file.tensors.at("f16")), values);
  const std::vector<float> eight = read_floats(file.tensors.at("q8_0")), four = read_floats(file.tensors.at("q4_0"));
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_NEAR(eight[i], values[i], 34.0F / 127 / 2 * 1.01F) << i;
    EXPECT_NEAR(four[i], values[i], 34.0F / 8 * 1.01F) << i;
  }
  EXPECT_THAT(file.tensors.at("q4_0").shape, ElementsAre(2, 32));
}

TEST_F(GgufReading, ShapesHaveTheirSlowestAxisFirst) {
  const GgufFile file = open({.tensors = {GgufTensorBytes{.extents = {3, 1}}.all()}, .data = three_floats()});
  EXPECT_THAT(file.tensors.at("t").shape, ElementsAre(1, 3));
  EXPECT_THAT(read_floats(file.tensors.at("t")), ElementsAre(1, 2, 3));
}

TEST_F(GgufReading, GettersTakeAnyWidth) {
  const std::vector<std::string> pairs{gguf_number("u8", kU8, uint8_t{200}), gguf_number("u64", kU64, uint64_t{5}),
                                       gguf_number("i32", kI32, -5), gguf_number("f64", kF64, 0.25)};
  for (const uint32_t version : {2U, 3U}) {
    const GgufFile file = open({.version = version, .pairs = pairs});
    EXPECT_EQ(file.metadata.integer("u8"), 200);
    EXPECT_EQ(file.metadata.integer("u64"), 5);
    EXPECT_EQ(file.metadata.integer("i32"), -5);
    EXPECT_EQ(file.metadata.real("f64"), 0.25);
    EXPECT_EQ(file.metadata.find_integer("absent"), std::nullopt);
    EXPECT_THAT(file.metadata.keys(), ElementsAre("u8", "u64", "i32", "f64"));
    EXPECT_EQ(file.metadata.shown_value("i32"), "-5");
  }
}

TEST_F(GgufReading, ValuesOfAnotherKindAreRefusedByKey) {
  const GgufFile file = open({.pairs = {gguf_pair("name", kText, gguf_text("x")), gguf_number("big", kU64, UINT64_MAX),
                                        gguf_pair("list", kArray, Bytes().add(kU32).add(uint64_t{0}).text)}});
  EXPECT_THAT(message_of([&] { file.metadata.integer("name"); }), HasSubstr("'name' is a text, expected an integer"));
  EXPECT_THAT(message_of([&] { file.metadata.text("list"); }), HasSubstr("'list' is 0 integers, expected a text"));
  EXPECT_THAT(message_of([&] { file.metadata.texts("name"); }), HasSubstr("expected a list of texts"));
  EXPECT_THAT(message_of([&] { file.metadata.integer("big"); }), HasSubstr("'big' is beyond 63 bits"));
  EXPECT_THAT(message_of([&] { file.metadata.real("absent"); }), HasSubstr("there is no 'absent'"));
  EXPECT_TRUE(file.metadata.is_list("list"));
}

TEST_F(GgufReading, OtherFilesAndVersionsAreRefused) {
  EXPECT_THAT(refusal({.magic = "GGML"}), HasSubstr("does not begin with 'GGUF'"));
  EXPECT_THAT(refusal({.version = 1}), HasSubstr("is of version 1, expected 2 or 3"));
  EXPECT_THAT(refusal({.version = 0x03000000}), HasSubstr("big-endian"));
  write_file(path_, "GG");
  EXPECT_FALSE(is_gguf(path_));
  EXPECT_THAT(refusal({.pairs = {gguf_number("split.count", kU32, 3U)}}), HasSubstr("one of 3 parts"));
}

// ggml#709: counts and lengths that nothing checked.
TEST_F(GgufReading, AbsurdCountsAreRefusedBeforeRoomIsMade) {
  Bytes file;
  file.add(std::string_view("GGUF")).add(3U).add(uint64_t{0}).add(uint64_t{1} << 60);
  write_file(path_, file.text + std::string(100, 'x'));
  EXPECT_THAT(message_of([&] { open_gguf(path_); }), HasSubstr("pairs of metadata, but only 100 bytes are left"));
  file = {};
  file.add(std::string_view("GGUF")).add(3U).add(UINT64_MAX).add(uint64_t{0});
  write_file(path_, file.text);
  EXPECT_THAT(message_of([&] { open_gguf(path_); }), HasSubstr("tensors, but only 0 bytes are left"));
  const uint64_t many = uint64_t{1} << 61;
  EXPECT_THAT(refusal({.pairs = {gguf_pair("k", kArray, Bytes().add(kU64).add(many).text)}}),
              HasSubstr("values in 'k', but only"));
  EXPECT_THAT(refusal({.pairs = {gguf_pair("k", kArray, Bytes().add(kText).add(many).text)}}),
              HasSubstr("texts in 'k', but only"));
  EXPECT_THAT(refusal({.pairs = {gguf_pair("k", kText, Bytes().add(UINT64_MAX).text)}}), HasSubstr("a text takes"));
  EXPECT_THAT(refusal({.pairs = {Bytes().add(many).text + std::string(9, 'x')}}),
              HasSubstr("a key of 2305843009213693952 bytes"));
  EXPECT_THAT(refusal({.tensors = {Bytes().add(many).text}, .data = std::string(99, 'x')}), HasSubstr("name of 23"));
}

TEST_F(GgufReading, BrokenMetadataAreRefused) {
  EXPECT_THAT(refusal({.pairs = {gguf_number("k", 13, 0U)}}), HasSubstr("'k' is of type 13, which is unknown"));
  EXPECT_THAT(refusal({.pairs = {gguf_pair("k", kArray, Bytes().add(kArray).add(kU32).add(uint64_t{0}).text)}}),
              HasSubstr("'k' is a list of lists"));
  EXPECT_THAT(refusal({.pairs = {gguf_number("k", kF32, 1.0F), gguf_number("k", kBoolean, true)}}),
              HasSubstr("the key 'k' occurs twice"));
  EXPECT_THAT(refusal({.pairs = {gguf_number("\xff", kF32, 1.0F)}}), HasSubstr("not UTF-8"));
  for (const uint32_t alignment : {0U, 3U, 1U << 31U}) {
    EXPECT_THAT(
        refusal({.pairs = {gguf_number("general.alignment", kU32, alignment)}, .tensors = {GgufTensorBytes{}.all()}}),
        HasSubstr("expected a power of two"));
  }
}

TEST_F(GgufReading, AnotherAlignmentIsFollowed) {
  const GgufFile file = open({.pairs = {gguf_number("general.alignment", kU32, 8U)},
                              .tensors = {GgufTensorBytes{}.all(), GgufTensorBytes{.name = "u", .offset = 16}.all()},
                              .data = three_floats() + std::string(4, '\0') + three_floats(),
                              .alignment = 8});
  EXPECT_THAT(read_floats(file.tensors.at("u")), ElementsAre(1, 2, 3));
}

// llama.cpp#24263, antirez/gguf-tools#25, CVE-2026-33298.
TEST_F(GgufReading, ZeroManyAndOverflowingAxesAreRefused) {
  EXPECT_THAT(refusal_of_tensor({.extents = {4, 0}}), HasSubstr("tensor 't' has an extent of 0"));
  EXPECT_THAT(refusal_of_tensor({.extents = {-4}}), HasSubstr("an extent of -4"));
  EXPECT_THAT(refusal_of_tensor({.extents = {1, 1, 1, 1, 1}}), HasSubstr("has 5 axes, expected up to 4"));
  EXPECT_THAT(refusal_of_tensor({.extents = {int64_t{1} << 32, int64_t{1} << 32}}), HasSubstr("more than any file"));
  EXPECT_THAT(refusal_of_tensor({.extents = {int64_t{1} << 62}}), HasSubstr("more than any file"));
  EXPECT_THAT(refusal_of_tensor({.extents = {48}, .type = 8}), HasSubstr("no whole blocks"));
}

// CVE-2026-7482: a shape that is larger than the data.
TEST_F(GgufReading, TensorsBeyondTheEndAreRefused) {
  EXPECT_THAT(refusal_of_tensor({.extents = {17}}), HasSubstr("tensor t F32[17] takes 68 bytes"));
  EXPECT_THAT(refusal_of_tensor({.offset = UINT64_MAX - 31}), HasSubstr("begins at byte 18446744073709551584"));
}

// CVE-2025-53630, CVE-2026-27940: sums of padded sizes that wrap around.
TEST_F(GgufReading, OverlapsAndGapsAreRefused) {
  for (const uint64_t offset : {0U, 31U, 64U}) {
    EXPECT_THAT(refusal({.tensors = {GgufTensorBytes{}.all(), GgufTensorBytes{.name = "u", .offset = offset}.all()},
                         .data = std::string(96, '\0')}),
                HasSubstr("tensor 'u' begins at byte " + std::to_string(offset) + " of the data, expected 32"));
  }
}

TEST_F(GgufReading, NamesThatOccurTwiceAreRefused) {
  EXPECT_THAT(refusal({.tensors = {GgufTensorBytes{}.all(), GgufTensorBytes{.offset = 32}.all()},
                       .data = std::string(64, '\0')}),
              HasSubstr("tensor 't' occurs twice"));
}

TEST_F(GgufReading, TypesThatAreNotReadAreRefusedByName) {
  EXPECT_THAT(refusal_of_tensor({.extents = {256}, .type = 17}), HasSubstr("tensor 't' is IQ2_XS, which heed"));
  EXPECT_THAT(refusal_of_tensor({.extents = {256}, .type = 10}), HasSubstr("tensor 't' is Q2_K"));
  EXPECT_THAT(refusal_of_tensor({.type = 99}), HasSubstr("is of type 99, which is unknown"));
}

TEST_F(GgufReading, EveryTruncationIsRefused) {
  const std::string whole = GgufBytes{.pairs = {gguf_pair("k", kText, gguf_text("abc")), gguf_number("n", kU32, 3U)},
                                      .tensors = {GgufTensorBytes{}.all()},
                                      .data = three_floats()}
                                .all();
  for (size_t size = 0; size < whole.size(); ++size) {
    test::write_bytes(path_, whole.substr(0, size));
    EXPECT_THROW(open_gguf(path_), FormatError) << size;
  }
  write_file(path_, whole);
  open_gguf(path_);
}

}  // namespace
}  // namespace heed
