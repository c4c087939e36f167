// heed gives small models the results that their own libraries give. The libraries made these models, by
// tests/interchange/golden/original/make.py.
#include <algorithm>

#include "checkpoint/model_directory.h"
#include "decode/scheduling/request_batch.h"
#include "decode/search/search.h"
#include "golden_model.h"
#include "interchange/foreign_source.h"
#include "text/token_ids.h"

namespace heed::test {
namespace {

const std::filesystem::path& original_folder() {
  static const std::filesystem::path kFolder = golden_folder("original");
  return kFolder;
}

// "original/GROUP/NAME" of each.
std::vector<std::string> originals(const std::string& group) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(original_folder() / group)) {
    names.push_back("original/" + group + "/" + entry.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

std::string test_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param.substr(info.param.rfind('/') + 1);
  std::ranges::replace_if(
      name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
}

// Those that the case has.
Rows kept(const Rows& all, const json& golden_case) {
  if (!golden_case.contains("rows")) {
    return all;
  }
  Rows rows;
  for (const json& row : golden_case.at("rows")) {
    rows.push_back(all.at(row.get<size_t>()));
  }
  return rows;
}

// Hypotheses whose scores are this close may swap places.
constexpr double kClose = 1e-4;

// What the library found, and with which settings.
struct OriginalSearch {
  const GoldenModel& model;
  const json& settings;  // of `generate`
  std::vector<int32_t> source, prompt;

  TranslationOptions options() const {
    TranslationOptions options;
    options.early_stopping = EarlyStopping::off;
    options.beam = settings.value("num_beams", 1);
    options.length_penalty = settings.value("length_penalty", 1.0);
    options.n_best = options.beam;
    if (const auto it = settings.find("early_stopping"); it != settings.end()) {
      options.early_stopping = it->is_string()   ? EarlyStopping::never
                               : it->get<bool>() ? EarlyStopping::on
                                                 : EarlyStopping::off;
    }
    options.rules.no_repeat_ngram = settings.value("no_repeat_ngram_size", 0);
    options.rules.min_length = settings.value("min_length", 0);
    return options;
  }

  std::vector<Hypothesis> found() const { return found(options(), max_length()); }

  std::vector<Hypothesis> found(const TranslationOptions& options, int64_t max_length) const {
    const ModelMarks& marks = model.found().marks;
    const bool writes_alone = source.empty();
    const std::vector<int32_t>& given = writes_alone ? prompt : marks.target_start;
    const int64_t certain = writes_alone ? 0 : std::ssize(given) - 1;
    const int32_t eos = model.end();
    const SearchRules rules{.at_limit = writes_alone ? AtLimit::cut : marks.at_limit,
                            .bos = given.front(),
                            .certain = certain,
                            .tokens = {.suppressed = marks.suppressed, .eos = eos, .writing = options.rules}};
    const Sampler greedy({.temperature = 0.0}, rules.tokens);
    SearchRequest search({source, given, max_length, certain}, options, rules, greedy);
    std::vector<Request*> requests{&search};
    const auto stepper = make_stepper(model.inference());
    run_together(*stepper, requests);
    return search.results();
  }

  int64_t max_length() const {
    return settings.contains("max_new_tokens") ? settings.at("max_new_tokens").get<int64_t>()
                                               : settings.at("max_length").get<int64_t>() - 1;
  }
};

std::vector<int32_t> with_end(const Hypothesis& hypothesis, int32_t end) {
  std::vector<int32_t> tokens = hypothesis.tokens;
  if (!hypothesis.cut_off) {
    tokens.push_back(end);
  }
  return tokens;
}

// The library's list, up to where two are so close that they may swap places.
void expect_hypotheses(const std::vector<Hypothesis>& found, const json& expected, int32_t end, double tolerance) {
  for (size_t i = 0; i < expected.size(); ++i) {
    const auto score_at = [&](size_t k) { return expected.at(k).at("score").get<double>(); };
    if (i + 1 < expected.size() && !expected.at(i).at("score").is_null() && score_at(i) - score_at(i + 1) < kClose) {
      return;
    }
    ASSERT_LT(i, found.size());
    EXPECT_EQ(with_end(found[i], end), ids_in(expected.at(i), "tokens")) << "hypothesis " << i;
    if (!expected.at(i).at("score").is_null()) {
      EXPECT_NEAR(found[i].score, score_at(i), std::max(1e-5, tolerance) * std::abs(score_at(i))) << "hypothesis " << i;
    }
  }
}

void expect_searches(const GoldenModel& model, const json& golden) {
  for (const json& one : golden.value("beams", json::array())) {
    const json& settings = one.at("settings");
    if (settings.contains("repetition_penalty")) {
      continue;  // not part of heed's search
    }
    SCOPED_TRACE(one.at("text").get<std::string>() + " " + settings.dump());
    const OriginalSearch search{model, settings,
                                one.contains("source") ? ids_in(one, "source") : std::vector<int32_t>(),
                                one.contains("prompt") ? ids_in(one, "prompt") : std::vector<int32_t>()};
    expect_hypotheses(search.found(), one.at("hypotheses"), model.end(), tolerance_of(golden));
  }
}

class OriginalDecoders : public testing::TestWithParam<std::string> {};

TEST_P(OriginalDecoders, GiveTheirLogitsAndTexts) {
  const json golden = golden_of(GetParam());
  const GoldenModel model(GetParam());
  for (const json& one : golden.at("cases")) {
    expect_close(kept(model.logits(ids_in(one, "ids")), one), one.at("logits"), tolerance_of(golden));
  }
  for (const json& one : golden.at("greedy")) {
    const json settings{{"max_new_tokens", one.at("new_tokens")}};
    const OriginalSearch search{model, settings, {}, ids_in(one, "prompt")};
    EXPECT_EQ(with_end(search.found().at(0), model.end()), ids_in(one, "continuation")) << one.at("text");
  }
  expect_searches(model, golden);
}

INSTANTIATE_TEST_SUITE_P(Models, OriginalDecoders, testing::ValuesIn(originals("decoders")), test_name);

class OriginalEncoderDecoders : public testing::TestWithParam<std::string> {};

TEST_P(OriginalEncoderDecoders, GiveTheirMemoryAndLogits) {
  const json golden = golden_of(GetParam());
  const GoldenModel model(GetParam());
  for (const json& one : golden.at("cases")) {
    const GoldenModel::Pair found = model.logits(ids_in(one, "source"), ids_in(one, "target"));
    expect_close(found.memory, one.at("memory"), tolerance_of(golden));
    expect_close(kept(found.logits, one), one.at("logits"), tolerance_of(golden));
  }
}

TEST_P(OriginalEncoderDecoders, FindTheSameTranslations) {
  const json golden = golden_of(GetParam());
  const GoldenModel model(GetParam());
  for (const json& one : golden.at("greedy")) {
    const OriginalSearch search{model, one, ids_in(one, "source"), {}};
    EXPECT_EQ(with_end(search.found().at(0), model.end()), ids_in(one, "target")) << one.at("text");
  }
  expect_searches(model, golden);
}

TEST_P(OriginalEncoderDecoders, AreDecodedByTheirOwnSettings) {
  const json golden = golden_of(GetParam());
  const GoldenModel model(GetParam());
  for (const json& one : golden.at("defaults")) {
    SCOPED_TRACE(one.at("text").get<std::string>());
    // Where the files give no length, the library writes 20 tokens.
    TranslationOptions options{.max_length = 20};
    model.found().decoding.apply_to(options);
    const OriginalSearch search{model, one, ids_in(one, "source"), {}};
    expect_hypotheses(search.found(options, options.max_length), one.at("hypotheses"), model.end(),
                      tolerance_of(golden));
  }
}

INSTANTIATE_TEST_SUITE_P(Models, OriginalEncoderDecoders, testing::ValuesIn(originals("encoder_decoders")), test_name);

class OriginalEncoders : public testing::TestWithParam<std::string> {};

TEST_P(OriginalEncoders, GiveTheirHiddenStatesAndScores) {
  const json golden = golden_of(GetParam());
  const GoldenModel model(GetParam());
  for (const json& one : golden.value("cases", json::array())) {
    const Sequences tokens =
        model.typed(ids_in(one, "ids"), one.contains("types") ? ids_in(one, "types") : std::vector<int32_t>());
    if (one.contains("hidden")) {
      expect_close(model.hidden(tokens), one.at("hidden"), tolerance_of(golden));
    } else {
      expect_close(kept(model.scores(tokens), one), one.at("logits"), tolerance_of(golden));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, OriginalEncoders, testing::ValuesIn(originals("encoders")), test_name);

}  // namespace
}  // namespace heed::test
