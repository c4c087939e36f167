// An imported model is decoded as its generation_config.json says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/errors.h"
#include "base/system/files.h"
#include "checkpoint/imported_model.h"
#include "interchange/foreign_source.h"
#include "source_root.h"
#include "test_folder.h"

namespace heed::test {
namespace {

using nlohmann::json;
using testing::ElementsAre;

// A golden model with these generation settings instead of its own; null removes the file.
std::filesystem::path with_generation(const std::string& name, const json& settings, const json& in_config = {}) {
  const std::filesystem::path folder = folder_of_test();
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder.parent_path());
  std::filesystem::copy(source_root() / "tests/interchange/golden" / name, folder);
  std::filesystem::remove(folder / "generation_config.json");
  if (!settings.is_null()) {
    write_file(folder / "generation_config.json", settings.dump());
  }
  json config = json::parse(read_file(folder / "config.json"));
  config.update(in_config.is_null() ? json::object() : in_config);
  write_file(folder / "config.json", config.dump());
  return folder;
}

class DecodingDefaultsOfHuggingFace : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove_all(folder_of_test()); }
};

TEST_F(DecodingDefaultsOfHuggingFace, TheSettingsOfABeamSearchAreRead) {
  const ForeignModel model =
      read_foreign_model(with_generation("encoder_decoders/bart", {{"num_beams", 6},
                                                                   {"length_penalty", 0.6},
                                                                   {"early_stopping", "never"},
                                                                   {"max_length", 40},
                                                                   {"min_length", 3},
                                                                   {"no_repeat_ngram_size", 2},
                                                                   {"suppress_tokens", {7}},
                                                                   {"bad_words_ids", {{8}, {9, 10}}},
                                                                   {"forced_eos_token_id", 2},
                                                                   {"repetition_penalty", 1.5}}));
  const DecodingDefaults expected{.beam = 6,
                                  .max_tokens = 39,
                                  .min_tokens = 3,
                                  .no_repeat_ngram = 2,
                                  .length_penalty = 0.6,
                                  .repetition_penalty = 1.5,
                                  .early_stopping = EarlyStopping::never};
  EXPECT_EQ(model.decoding, expected);
  EXPECT_THAT(model.marks.suppressed, ElementsAre(7, 8));
  EXPECT_THAT(model.marks.bad_words, ElementsAre(ElementsAre(9, 10)));
  EXPECT_EQ(model.marks.at_limit, AtLimit::free_end);
  EXPECT_EQ(std::ranges::find(model.unread, "generation_config.json repetition_penalty"), model.unread.end());
  const auto beam = std::ranges::find(model.origins, "num_beams", &SettingOrigin::key);
  ASSERT_NE(beam, model.origins.end());
  EXPECT_EQ(beam->file, "generation_config.json");
  EXPECT_EQ(beam->value, "6");
}

TEST_F(DecodingDefaultsOfHuggingFace, WithoutTheFileTheSettingsAreThoseOfConfigJson) {
  const json in_config{{"num_beams", 5},      {"early_stopping", true},    {"max_length", nullptr},
                       {"max_new_tokens", 9}, {"length_penalty", nullptr}, {"no_repeat_ngram_size", nullptr}};
  const auto decoding = [](const std::filesystem::path& folder) { return read_foreign_model(folder).decoding; };
  const DecodingDefaults expected{.beam = 5, .max_tokens = 9, .early_stopping = EarlyStopping::on};
  EXPECT_EQ(decoding(with_generation("encoder_decoders/mbart-50", {}, in_config)), expected);
  EXPECT_EQ(decoding(with_generation("encoder_decoders/mbart-50", json::object(), in_config)),
            DecodingDefaults{.early_stopping = EarlyStopping::off});
}

TEST_F(DecodingDefaultsOfHuggingFace, TokensAreDrawnOnlyWhereTheFileSaysSo) {
  const auto decoding = [](const json& settings) {
    return read_foreign_model(with_generation("decoders/gpt2", settings)).decoding;
  };
  EXPECT_EQ(decoding({{"do_sample", true}, {"temperature", 0.6}, {"top_p", 0.9}}),
            (DecodingDefaults{.top_k = 50, .temperature = 0.6, .top_p = 0.9}));
  EXPECT_EQ(decoding({{"do_sample", true}, {"top_k", 7}, {"min_p", 0.1}, {"repetition_penalty", 1.1}}),
            (DecodingDefaults{.top_k = 7, .repetition_penalty = 1.1, .min_p = 0.1}));
  EXPECT_EQ(decoding({{"do_sample", false}, {"max_new_tokens", 20}, {"min_new_tokens", 2}}),
            (DecodingDefaults{.max_tokens = 20, .min_tokens = 3, .temperature = 0.0}));
  EXPECT_EQ(decoding({{"num_beams", 3}}), DecodingDefaults{.beam = 3});
  EXPECT_EQ(decoding({{"temperature", 0.6}}), DecodingDefaults());
}

TEST_F(DecodingDefaultsOfHuggingFace, WrongValuesAreRefused) {
  for (const json& wrong :
       {json{{"num_beams", "4"}}, json{{"early_stopping", "soon"}}, json{{"length_penalty", true}},
        json{{"bad_words_ids", {54}}}, json{{"bad_words_ids", {{54}}}}, json{{"bad_words_ids", {{5, 54}}}},
        json{{"suppress_tokens", {-1}}}, json{{"forced_eos_token_id", 99}}}) {
    const std::filesystem::path folder = with_generation("encoder_decoders/bart", wrong);
    EXPECT_THROW(read_foreign_model(folder), FormatError) << wrong;
  }
}

TEST(DecodingDefaults, ReplaceHeedsOwnWhereTheyAreSet) {
  TranslationOptions translation{.length_penalty = 0.5};
  DecodingDefaults{.beam = 4, .max_tokens = 30, .early_stopping = EarlyStopping::off}.apply_to(translation);
  EXPECT_EQ(translation.beam, 4);
  EXPECT_EQ(translation.max_length, 30);
  EXPECT_EQ(translation.early_stopping, EarlyStopping::off);
  EXPECT_EQ(translation.length_penalty, 0.5);
  GenerationOptions generation{.max_tokens = 1000};
  DecodingDefaults{.top_k = 50, .temperature = 0.6}.apply_to(generation);
  EXPECT_EQ(generation.max_tokens, 1000);
  EXPECT_EQ(generation.sampling.top_k, 50);
  EXPECT_EQ(generation.sampling.temperature, 0.6);
}

TEST(DecodingDefaults, AreKeptByAnImportedModel) {
  const std::filesystem::path source = with_generation("encoder_decoders/t5", {{"num_beams", 3},
                                                                               {"early_stopping", "never"},
                                                                               {"length_penalty", 1.5},
                                                                               {"max_length", 20},
                                                                               {"decoder_start_token_id", 0},
                                                                               {"bad_words_ids", {{9}, {9, 11}}}});
  const ModelFolder imported{source.string() + "-imported"};
  std::filesystem::remove_all(imported.path);
  write_imported_model(source, imported);
  const ModelDescription description = load_description(imported);
  EXPECT_EQ(description.decoding, load_description(ModelFolder{source}).decoding);
  EXPECT_EQ(describe(description.decoding), "beam 3, length_penalty 1.5, early_stopping never, max_tokens 19");
  EXPECT_THAT(description.marks.suppressed, ElementsAre(9));
  EXPECT_THAT(description.marks.bad_words, ElementsAre(ElementsAre(9, 11)));
  json config = json::parse(read_file(imported.config()));
  for (const json& wrong : {json{{"beam", 1.5}}, json{{"early_stopping", "soon"}}, json{{"speed", 3}}}) {
    config["decoding"] = wrong;
    write_file(imported.config(), config.dump());
    EXPECT_THROW(load_description(imported), FormatError) << wrong;
  }
  std::filesystem::remove_all(imported.path);
  std::filesystem::remove_all(source);
}

}  // namespace
}  // namespace heed::test
