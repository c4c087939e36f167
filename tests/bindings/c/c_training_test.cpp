#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "bindings/c/c_training.h"

namespace heed::test {
namespace {

class CTraining : public CTrainingTest {};

std::string kind_of(const heed_record* record) {
  const char* kind = nullptr;
  HEED_EXPECT_OK(heed_record_kind(record, &kind));
  return kind == nullptr ? "" : kind;
}

std::vector<std::string> texts_in(const heed_record* record) {
  std::vector<std::string> found;
  size_t count = 0;
  HEED_EXPECT_OK(heed_record_texts(record, &count));
  for (size_t i = 0; i < count; ++i) {
    const char* text = nullptr;
    size_t length = 0;
    HEED_EXPECT_OK(heed_record_text(record, i, &text, &length));
    found.emplace_back(text, length);
  }
  return found;
}

std::map<std::string, double> figures_in(const heed_record* record) {
  std::map<std::string, double> found;
  size_t count = 0;
  HEED_EXPECT_OK(heed_record_figures(record, &count));
  for (size_t i = 0; i < count; ++i) {
    const char* name = nullptr;
    double value = 0.0;
    HEED_EXPECT_OK(heed_record_figure(record, i, &name, &value));
    found[name] = value;
    double same = 0.0;
    HEED_EXPECT_OK(heed_record_value(record, name, &same));
    EXPECT_EQ(same, value);
  }
  return found;
}

// What a callback heard; it ends the training at an update.
struct HeardEvents {
  std::vector<std::string> kinds;
  std::map<std::string, std::map<std::string, double>> last;
  double ends_at = 1e9;
};

int hear_event(void* user, const heed_record* event) {
  HeardEvents& heard = *static_cast<HeardEvents*>(user);
  heard.kinds.push_back(kind_of(event));
  heard.last[heard.kinds.back()] = figures_in(event);
  if (heard.kinds.back() == "message") {
    EXPECT_EQ(texts_in(event).size(), 1U);
  }
  const auto& figures = heard.last[heard.kinds.back()];
  return figures.contains("update") && figures.at("update") >= heard.ends_at ? 1 : 0;
}

TEST_F(CTraining, TellsOfEventsAndLeavesAModel) {
  HeardEvents heard;
  const OptionsOwner options = training_options();
  HEED_ASSERT_OK(heed_options_on_event(options.get(), hear_event, &heard));
  heed_record* made = nullptr;
  HEED_ASSERT_OK(heed_train(recipe().c_str(), path("model").c_str(), options.get(), &made));
  const RecordOwner owner(made);
  EXPECT_EQ(kind_of(made), "trained");
  EXPECT_EQ(texts_in(made), std::vector<std::string>{"updates"});
  EXPECT_GT(figures_in(made).at("parameters"), 100.0);
  EXPECT_EQ(heard.kinds.front(), "message");
  const auto start = std::ranges::find(heard.kinds, "start");
  ASSERT_NE(start, heard.kinds.end());
  EXPECT_EQ(std::count(start, heard.kinds.end(), "train"), 4);
  EXPECT_EQ(std::count(start, heard.kinds.end(), "validation"), 2);
  EXPECT_EQ(heard.last["train"].at("update"), 4.0);
  EXPECT_GT(heard.last["train"].at("loss"), 0.0);
  EXPECT_GT(heard.last["train"].at("gradient_norm"), 0.0);
  EXPECT_EQ(heard.last["train"].at("fraction"), 1.0);
  EXPECT_TRUE(heard.last["validation"].contains("bleu"));
  const TranslatorOwner translator = open_translator({{HEED_THREADS, 1}}, path("model"));
  EXPECT_NE(translator, nullptr);
}

TEST_F(CTraining, ACallbackEndsItAndItResumesToTheSameBits) {
  HEED_ASSERT_OK(heed_train(recipe().c_str(), path("whole").c_str(), training_options().get(), nullptr));
  HeardEvents heard{.ends_at = 2.0};
  const OptionsOwner options = training_options();
  HEED_ASSERT_OK(heed_options_on_event(options.get(), hear_event, &heard));
  heed_record* made = nullptr;
  HEED_ASSERT_OK(heed_train(recipe().c_str(), path("model").c_str(), options.get(), &made));
  EXPECT_EQ(texts_in(RecordOwner(made).get()), std::vector<std::string>{"stopped"});
  EXPECT_EQ(heard.kinds.back(), "train");  // it hears nothing after that
  EXPECT_EQ(heard.last["train"].at("update"), 2.0);
  const OptionsOwner resumed = training_options();
  HEED_ASSERT_OK(heed_options_set_int(resumed.get(), HEED_RESUME, 1));
  HEED_ASSERT_OK(heed_train(recipe().c_str(), path("model").c_str(), resumed.get(), &made));
  EXPECT_EQ(texts_in(RecordOwner(made).get()), std::vector<std::string>{"updates"});
  EXPECT_EQ(content(path("model") + "/model.safetensors"), content(path("whole") + "/model.safetensors"));
}

TEST_F(CTraining, AStopAndATimeEndItToo) {
  const OptionsOwner late = training_options();
  HEED_ASSERT_OK(heed_options_set_real(late.get(), HEED_TIMEOUT, 0.0));
  heed_record* made = nullptr;
  HEED_ASSERT_OK(heed_train(recipe().c_str(), path("late").c_str(), late.get(), &made));
  EXPECT_EQ(texts_in(RecordOwner(made).get()), std::vector<std::string>{"stopped"});
  heed_stop* stop = nullptr;
  HEED_ASSERT_OK(heed_stop_create(&stop));
  HEED_ASSERT_OK(heed_stop_request(stop));
  const OptionsOwner stopped = training_options();
  HEED_ASSERT_OK(heed_options_set_stop(stopped.get(), stop));
  HEED_ASSERT_OK(heed_train(recipe().c_str(), path("stopped").c_str(), stopped.get(), &made));
  EXPECT_EQ(texts_in(RecordOwner(made).get()), std::vector<std::string>{"stopped"});
  heed_stop_free(stop);
}

TEST_F(CTraining, ModelsAreExportedImportedAndQuantized) {
  const std::string model = CModels::made().translator();
  OptionsOwner options = make_options();
  HEED_ASSERT_OK(heed_options_set_text(options.get(), HEED_FORMAT, "ctranslate2", HEED_TERMINATED));
  HEED_ASSERT_OK(heed_options_set_text(options.get(), HEED_WEIGHT_TYPE, "f16", HEED_TERMINATED));
  heed_record* made = nullptr;
  HEED_ASSERT_OK(heed_export(model.c_str(), path("exported").c_str(), options.get(), &made));
  const RecordOwner exported(made);
  EXPECT_EQ(kind_of(made), "exported");
  const double tensors = figures_in(made).at("tensors");
  EXPECT_GT(tensors, 10.0);
  HEED_ASSERT_OK(heed_import(path("exported").c_str(), path("imported").c_str(), nullptr, &made));
  const RecordOwner imported(made);
  EXPECT_EQ(kind_of(made), "imported");
  EXPECT_GT(figures_in(made).at("bytes"), 1000.0);
  EXPECT_FALSE(texts_in(made).empty());
  EXPECT_NE(open_translator({{HEED_THREADS, 1}}, path("imported")), nullptr);

  options = make_options();
  HEED_ASSERT_OK(heed_options_set_text(options.get(), HEED_WEIGHT_TYPE, "int8", HEED_TERMINATED));
  HEED_ASSERT_OK(heed_options_set_text(options.get(), HEED_KEEP, "encoder.*=f32", HEED_TERMINATED));
  HEED_ASSERT_OK(heed_quantize(model.c_str(), path("kept").c_str(), options.get(), &made));
  const RecordOwner kept(made);
  HEED_ASSERT_OK(heed_quantize(model.c_str(), path("small").c_str(), nullptr, &made));
  const RecordOwner small(made);
  EXPECT_EQ(kind_of(made), "quantized");
  EXPECT_LT(figures_in(small.get()).at("bytes_after"), figures_in(kept.get()).at("bytes_after"));
  EXPECT_LT(figures_in(kept.get()).at("bytes_after"), figures_in(kept.get()).at("bytes_before"));
  EXPECT_GT(figures_in(small.get()).at("signal_to_noise"), 20.0);
  EXPECT_NE(open_translator({{HEED_THREADS, 1}}, path("small")), nullptr);
}

TEST_F(CTraining, WhatIsWrongIsAnErrorThatNamesIt) {
  heed_record* made = nullptr;
  EXPECT_EQ(code_of(heed_train(path("none.toml").c_str(), path("x").c_str(), nullptr, &made)), HEED_ERROR_IO);
  const OptionsOwner options = make_options();
  HEED_ASSERT_OK(heed_options_set_text(options.get(), HEED_SETTING, "model.heads=3", HEED_TERMINATED));
  EXPECT_EQ(code_of(heed_train(recipe().c_str(), path("x").c_str(), options.get(), &made)), HEED_ERROR_CONFIG);
  EXPECT_EQ(message_of(heed_quantize("m", path("x").c_str(), options.get(), &made)),
            "HEED_SETTING: means nothing to this call");
  const auto refusal = [&](heed_option option, const char* text) {
    const OptionsOwner some = make_options();
    HEED_EXPECT_OK(heed_options_set_text(some.get(), option, text, HEED_TERMINATED));
    return message_of(heed_quantize(CModels::made().translator().c_str(), path("x").c_str(), some.get(), &made));
  };
  EXPECT_EQ(refusal(HEED_KEEP, "encoder"), "HEED_KEEP: 'encoder' is not PATTERN=TYPE");
  EXPECT_EQ(refusal(HEED_KEEP, "encoder=int9").substr(0, 34), "HEED_KEEP: 'int9' is none of int8,");
  EXPECT_EQ(refusal(HEED_WEIGHT_TYPE, "small").substr(0, 42), "HEED_WEIGHT_TYPE: 'small' is none of int8,");
  const OptionsOwner hearing = make_options();
  HEED_ASSERT_OK(heed_options_on_event(hearing.get(), hear_event, nullptr));
  EXPECT_EQ(message_of(heed_quantize("m", "x", hearing.get(), &made)),
            "heed_options: this call tells no callback of anything");
  const TranslatorOwner translator = open_translator();
  const char* const lines[] = {"ein Hund"};
  heed_texts* texts = nullptr;
  EXPECT_EQ(message_of(heed_translator_translate(translator.get(), lines, nullptr, 1, hearing.get(), &texts)),
            "heed_options: this call tells no callback of that");
  EXPECT_EQ(made, nullptr);
  EXPECT_FALSE(std::filesystem::exists(path("x")));
  // Records.
  HEED_ASSERT_OK(heed_quantize(CModels::made().translator().c_str(), path("small").c_str(), nullptr, &made));
  const RecordOwner owner(made);
  double value = 5.0;
  const char* text = nullptr;
  EXPECT_EQ(message_of(heed_record_value(made, "loss", &value)),
            "there is no figure 'loss' in a record of the kind quantized");
  EXPECT_EQ(value, 5.0);
  EXPECT_EQ(message_of(heed_record_text(made, 0, &text, nullptr)), "text 0 of 0");
  EXPECT_EQ(message_of(heed_record_figure(made, 4, &text, &value)), "figure 4 of 4");
}

}  // namespace
}  // namespace heed::test
