#include "interchange/ctranslate2/model_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/errors.h"
#include "base/system/files.h"
#include "ctranslate2_bytes.h"
#include "interchange/ctranslate2/directory.h"
#include "source_root.h"
#include "tensor/half.h"
#include "test_folder.h"

namespace heed {
namespace {

using test::Bytes;
using test::CTranslate2Bytes;
using testing::ElementsAre;
using testing::HasSubstr;

class CTranslate2 : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  CTranslate2File open(const std::string& bytes) const {
    test::write_bytes(folder_ / "model.bin", bytes);
    return open_ctranslate2_file(folder_ / "model.bin");
  }
  CTranslate2File open(const CTranslate2Bytes& bytes) const { return open(bytes.all()); }
  template <class Body>
  static std::string message_of(Body&& body) {
    try {
      body();
    } catch (const FormatError& error) {
      return error.what();
    }
    return "";
  }
  std::string refusal(const CTranslate2Bytes& bytes) const {
    return message_of([&] { open(bytes); });
  }

  std::filesystem::path folder_ = test::folder_of_test();
};

TEST_F(CTranslate2, VariablesOfEveryTypeAreTensors) {
  const CTranslate2File file = open({.variables = {{"f32", {2}, 0, Bytes().add(1.5F).add(-2.0F).text},
                                                   {"i8", {}, 1, Bytes().add(int8_t{-3}).text},
                                                   {"i16", {}, 2, Bytes().add(int16_t{300}).text},
                                                   {"i32", {1}, 3, Bytes().add(70000).text},
                                                   {"f16", {1, 1}, 4, Bytes().add(half_from(0.5F)).text},
                                                   {"bf16", {1}, 5, Bytes().add(bf16(2.0F).bits).text},
                                                   {"text", {3}, 1, "<s>"}},
                                     .aliases = {{"other", "f32"}}});
  EXPECT_EQ(file.spec, "TransformerSpec");
  EXPECT_EQ(file.revision, 7U);
  EXPECT_THAT(read_floats(file.tensors.at("other")), ElementsAre(1.5F, -2.0F));
  EXPECT_EQ(file.find_number("i8"), -3);
  EXPECT_EQ(file.find_number("i16"), 300);
  EXPECT_EQ(file.find_number("i32"), 70000);
  EXPECT_EQ(file.find_number("f16"), 0.5);
  EXPECT_EQ(file.find_number("bf16"), 2);
  EXPECT_EQ(file.find_number("absent"), std::nullopt);
  EXPECT_EQ(file.find_text("text"), "<s>");
  EXPECT_THAT(message_of([&] { file.find_number("f32"); }), HasSubstr("f32 F32[2], expected a single number"));
  EXPECT_THAT(message_of([&] { file.find_text("f32"); }), HasSubstr("expected a text"));
}

TEST_F(CTranslate2, IntegersAreDividedByTheirScales) {
  const CTranslate2File file =
      open({.variables =
                {{"a/weight", {2, 2}, 1, Bytes().add(int8_t{2}).add(int8_t{-4}).add(int8_t{10}).add(int8_t{20}).text},
                 {"a/weight_scale", {2}, 0, Bytes().add(2.0F).add(10.0F).text},
                 {"b/weight", {1, 2}, 2, Bytes().add(int16_t{512}).add(int16_t{-1024}).text},
                 {"b/weight_scale", {}, 0, Bytes().add(1024.0F).text}},
            .aliases = {{"c/weight", "a/weight"}}});
  EXPECT_THAT(read_floats(file.tensors.at("a/weight")), ElementsAre(1, -2, 1, 2));
  EXPECT_THAT(read_floats(file.tensors.at("b/weight")), ElementsAre(0.5F, -1));
  EXPECT_EQ(file.tensors.find("c/weight_scale"), file.tensors.find("a/weight_scale"));
  EXPECT_THAT(refusal({.variables = {{"a/weight", {1, 1}, 1, "x"}}}), HasSubstr("there is no 'a/weight_scale'"));
  EXPECT_THAT(
      refusal({.variables = {{"a/weight", {3, 1}, 1, "xyz"}, {"a/weight_scale", {2}, 0, std::string(8, '\1')}}}),
      HasSubstr("2 scales for tensor a/weight"));
}

TEST_F(CTranslate2, OlderVersionsSayTheSizeOfAnItem) {
  const CTranslate2File file = open({.version = 2,
                                     .spec = "TransformerBase",
                                     .revision = 2,
                                     .variables = {{"f32", {2}, 4, Bytes().add(1.5F).add(2.0F).text}}});
  EXPECT_THAT(read_floats(file.tensors.at("f32")), ElementsAre(1.5F, 2.0F));
  EXPECT_THAT(refusal({.version = 3, .variables = {{"a", {}, 8, std::string(8, ' ')}}}), HasSubstr("items of 8 bytes"));
}

TEST_F(CTranslate2, OtherVersionsAreRefused) {
  for (const uint32_t version : {0U, 1U, 7U}) {
    EXPECT_THAT(refusal({.version = version}), HasSubstr("is of binary version"));
  }
}

TEST_F(CTranslate2, WhatTheFormatDoesNotAllowIsRefused) {
  EXPECT_THAT(refusal({.variables = {{"a", {3}, 0, std::string(8, ' ')}}}),
              HasSubstr("a F32[3] takes 12 bytes, but the file has 8"));
  EXPECT_THAT(refusal({.variables = {{"a", {1U << 31U, 1U << 31U, 1U << 31U}, 0, ""}}}),
              HasSubstr("more than any file"));
  EXPECT_THAT(refusal({.variables = {{"a", {}, 6, "x"}}}), HasSubstr("'a' is of type 6, which is unknown"));
  EXPECT_THAT(refusal({.variables = {{"a", std::vector<uint32_t>(9, 1), 1, "x"}}}), HasSubstr("'a' has 9 axes"));
  EXPECT_THAT(refusal({.variables = {{"a", {}, 1, "x"}, {"a", {}, 1, "x"}}}), HasSubstr("'a' occurs twice"));
  EXPECT_THAT(refusal({.count = 4'000'000'000}), HasSubstr("4000000000 variables, but only"));
  EXPECT_THAT(refusal({.variables = {{"a", {}, 1, "x"}}, .aliases = {{"b", "c"}}}),
              HasSubstr("'c', which is not there"));
  EXPECT_THAT(refusal({.variables = {{"a", {}, 1, "x"}}, .aliases = {{"a", "a"}}}), HasSubstr("'a' occurs twice"));
  EXPECT_THAT(refusal({.variables = {{"a/weight_zero", {}, 1, "x"}}}), HasSubstr("4-bit quantization"));
  EXPECT_THAT(message_of([&] { open(CTranslate2Bytes{}.all() + "x"); }), HasSubstr("has 1 bytes more"));
}

TEST_F(CTranslate2, EveryTruncationIsRefused) {
  const std::string whole = CTranslate2Bytes{.variables = {{"a", {2}, 1, "xy"}}, .aliases = {{"b", "a"}}}.all();
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THROW(open(whole.substr(0, size)), FormatError) << size;
  }
  open(whole);
}

TEST_F(CTranslate2, SettingsAreInJsonOrAmongTheVariables) {
  write_file(folder_ / "config.json", R"({"bos_token":"[CLS]","add_source_eos":true,"decoder_start_token":null,
    "layer_norm_epsilon":1e-12})");
  const CTranslate2Config config = read_ctranslate2_config(folder_, open(CTranslate2Bytes{}));
  EXPECT_EQ(config.begin, "[CLS]");
  EXPECT_EQ(config.unknown, "<unk>");
  EXPECT_TRUE(config.adds_source_end);
  EXPECT_EQ(config.decoder_start, std::nullopt);
  EXPECT_EQ(config.epsilon, 1e-12);
  const CTranslate2File old =
      open({.version = 5, .variables = {{"unk_token", {1}, 1, "?"}, {"with_target_bos", {}, 1, std::string(1, '\0')}}});
  EXPECT_EQ(read_ctranslate2_config(folder_, old).unknown, "?");
  EXPECT_EQ(read_ctranslate2_config(folder_, old).decoder_start, "</s>");
  EXPECT_EQ(read_ctranslate2_config(folder_, old).epsilon, 1e-12);
  for (const char* const bad : {R"({"unk_token":1})", R"({"add_source_bos":"x"})", R"({"layer_norm_epsilon":0})", "[]",
                                "{", R"({"quantization_type":1})"}) {
    write_file(folder_ / "config.json", bad);
    EXPECT_THROW(read_ctranslate2_config(folder_, open(CTranslate2Bytes{})), FormatError) << bad;
  }
  std::filesystem::remove(folder_ / "config.json");
  EXPECT_THAT(message_of([&] { read_ctranslate2_config(folder_, open(CTranslate2Bytes{})); }),
              HasSubstr("no config.json"));
}

TEST_F(CTranslate2, VocabulariesAreListsOrLines) {
  write_file(folder_ / "source_vocabulary.txt", "<s>\r\na\r\n");
  write_file(folder_ / "target_vocabulary.json", R"(["<unk>","b\nc"])");
  const CTranslate2Vocabularies two = read_ctranslate2_vocabularies(folder_, "<unk>");
  EXPECT_THAT(two.source, ElementsAre("<s>", "a", "<unk>"));
  EXPECT_THAT(two.target, ElementsAre("<unk>", "b\nc"));
  write_file(folder_ / "shared_vocabulary.txt", "<unk>\na\r\n");
  const CTranslate2Vocabularies one = read_ctranslate2_vocabularies(folder_, "<unk>");
  EXPECT_THAT(one.target, ElementsAre("<unk>", "a\r"));
  EXPECT_EQ(one.source_file, one.target_file);
  write_file(folder_ / "shared_vocabulary.json", R"(["a","a"])");
  EXPECT_THAT(message_of([&] { read_ctranslate2_vocabularies(folder_, "<unk>"); }), HasSubstr("'a' occurs twice"));
  write_file(folder_ / "shared_vocabulary.json", R"(["a",1])");
  EXPECT_THAT(message_of([&] { read_ctranslate2_vocabularies(folder_, "<unk>"); }), HasSubstr("token 1 is not a text"));
  write_file(folder_ / "source_1_vocabulary.txt", "");
  EXPECT_THAT(message_of([&] { read_ctranslate2_vocabularies(folder_, "<unk>"); }), HasSubstr("several parts"));
}

TEST_F(CTranslate2, AMissingVocabularyIsNamed) {
  write_file(folder_ / "source_vocabulary.txt", "a\n");
  EXPECT_THAT(message_of([&] { read_ctranslate2_vocabularies(folder_, "<unk>"); }),
              HasSubstr("there is neither target_vocabulary.json nor target_vocabulary.txt"));
}

TEST(CTranslate2Published, TheTransliterationModelIsRead) {
  const char* const set = std::getenv("HEED_DATA");
  const std::filesystem::path data =
      set != nullptr ? std::filesystem::path(set) : test::source_root() / "../shared/data";
  const std::filesystem::path folder = data / "ct2-transliteration";
  if (!std::filesystem::exists(folder)) {
    GTEST_SKIP() << "there is no " << folder;
  }
  EXPECT_TRUE(is_ctranslate2(folder));
  const CTranslate2File file = open_ctranslate2_file(folder / "model.bin");
  EXPECT_EQ(file.spec, "TransformerBase");
  EXPECT_EQ(file.tensors.tensors().size(), 200U);
  EXPECT_THAT(file.tensors.at("encoder/embeddings/weight").shape, ElementsAre(51, 32));
  EXPECT_THAT(file.tensors.at("decoder/layer_5/ffn/linear_0/weight").shape, ElementsAre(128, 32));
  EXPECT_THAT(file.tensors.at("decoder/projection/weight").shape, ElementsAre(43, 32));
  const CTranslate2Config config = read_ctranslate2_config(folder, file);
  const CTranslate2Vocabularies tokens = read_ctranslate2_vocabularies(folder, config.unknown);
  EXPECT_EQ(tokens.source.size(), 51U);
  EXPECT_EQ(tokens.target.size(), 43U);
  EXPECT_EQ(tokens.target[1], "<s>");
}

}  // namespace
}  // namespace heed
