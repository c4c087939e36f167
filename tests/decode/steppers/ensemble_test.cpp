// Ensembles: several models whose probabilities are averaged, in steps, scores, perplexities and alignments.
#include <gtest/gtest.h>

#include <cmath>
#include <optional>

#include "decode/language_model_testing.h"
#include "decode/scoring/perplexity.h"
#include "decode/steppers/ensemble_stepper.h"
#include "decode/steppers/fake_stepper.h"
#include "decode/texts/translation/alignment.h"
#include "decode/translator_testing.h"

namespace heed::test {
namespace {

using Ids = std::vector<int32_t>;

std::vector<double> row_of(const HostView<float>& values, int64_t row) {
  return {values.row(row), values.row(row) + values.columns};
}

double log_of_mean(double a, double b) { return std::log((std::exp(a) + std::exp(b)) / 2.0); }

void expect_mean(const std::vector<double>& found, const std::vector<double>& a, const std::vector<double>& b) {
  ASSERT_EQ(found.size(), a.size());
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i], log_of_mean(a[i], b[i]), 1e-5 * std::max(1.0, std::abs(found[i])));
  }
}

// Two translators with other weights, and what they translate and score together.
struct TranslatorPair {
  explicit TranslatorPair(DType storage = DType::f32) : first(storage), second(storage, 2, 6) {
    others = {&*second.model};
    inference.emplace(Inference{*first.model, *first.backend, storage, {}, others});
    scheduler.emplace(*inference, nullptr, SourceVocabulary::same);
    translator.emplace(TextTranslator{*scheduler, {*first.tokenizer, *first.tokenizer}});
  }

  std::vector<std::vector<TranslatedLine>> translate(const std::vector<std::string>& lines,
                                                     const TranslationOptions& options) const {
    return translate_lines(*translator, lines, options, [](size_t i) { return fmt::format("text:{}", i + 1); });
  }

  RandomTranslator first, second;
  std::vector<const AnyModel*> others;
  std::optional<Inference> inference;
  std::optional<Scheduler> scheduler;
  std::optional<TextTranslator> translator;
};

class EnsembleOfTranslators : public testing::TestWithParam<DType> {};

// The next tokens after each of a source's tokens, by one of the models or both.
std::vector<std::vector<double>> rows_after(const Inference& inference, const Ids& source, const Ids& tokens,
                                            std::span<const int32_t> candidates = {}) {
  const auto stepper = make_stepper(inference);
  const SequenceId sequence = stepper->begin({{source}}).front();
  if (!candidates.empty()) {
    stepper->restrict_to({{{sequence, candidates}}});
  }
  const NextTokens next = stepper->next({{{sequence, tokens, RowsWanted::all}}});
  EXPECT_EQ(next.logits.rows == 0, !candidates.empty());
  std::vector<std::vector<double>> rows;
  for (int64_t row = 0; row < next.log_probs.rows; ++row) {
    rows.push_back(row_of(next.log_probs, row));
    rows.back().resize(candidates.empty() ? rows.back().size() : candidates.size());
  }
  return rows;
}

TEST_P(EnsembleOfTranslators, EachNextTokenHasTheMeanOfItsProbabilities) {
  const TranslatorPair pair(GetParam());
  const Inference second{*pair.second.model, *pair.second.backend, GetParam()};
  const Ids source{5, 9, 7, 3}, tokens{2, 8, 6}, candidates{3, 6, 11};
  for (const Ids& among : {Ids(), candidates}) {
    const auto both = rows_after(*pair.inference, source, tokens, among);
    const auto a = rows_after(pair.first.scheduler->inference(), source, tokens, among);
    const auto b = rows_after(second, source, tokens, among);
    ASSERT_EQ(both.size(), 3U);
    for (size_t row = 0; row < 3; ++row) {
      expect_mean(both[row], a[row], b[row]);
      EXPECT_NE(a[row], b[row]);
    }
  }
}

TEST_P(EnsembleOfTranslators, ForksRollbacksAndNeighboursChangeNoBit) {
  const TranslatorPair pair(GetParam());
  const Ids source{5, 9, 7, 3}, tokens{2, 8, 6};
  const auto expected = rows_after(*pair.inference, source, tokens).back();
  const auto stepper = make_stepper(*pair.inference);
  EXPECT_EQ(stepper->max_length(), 40);
  const std::vector<SequenceId> begun = stepper->begin({{Ids{6, 3}, source}});
  const Ids wrong{2, 8, 11, 12}, one{2};
  stepper->next({{{begun[0], one}, {begun[1], wrong}}});
  const SequenceId fork = stepper->fork(begun[1]);
  stepper->remove(begun[1]);
  stepper->roll_back(fork, 2);
  EXPECT_EQ(stepper->length(fork), 2);
  const NextTokens next = stepper->next({{{begun[0], one, RowsWanted::none}, {fork, std::span(tokens).last(1)}}});
  ASSERT_EQ(next.log_probs.rows, 1);
  EXPECT_EQ(row_of(next.log_probs, 0), expected);
  EXPECT_EQ(stepper->next({{{begun[0], one, RowsWanted::none}}}).log_probs.rows, 0);
}

// Penalties of repetition depend on where the zero of logits is.
TEST_P(EnsembleOfTranslators, LogitsAreAsFarAboveTheLogProbabilitiesAsThoseOfTheModels) {
  const TranslatorPair pair(GetParam());
  const Inference& first = pair.first.scheduler->inference();
  const Inference second{*pair.second.model, *pair.second.backend, GetParam()};
  const std::vector<const AnyModel*> itself{&first.model};
  const Ids source{5, 9, 7, 3}, tokens{2, 8};
  const auto shifts_of = [&](const Inference& inference) {
    const auto stepper = make_stepper(inference);
    const NextTokens next = stepper->next({{{stepper->begin({{source}}).front(), tokens, RowsWanted::all}}});
    std::vector<double> shifts;
    for (int64_t row = 0; row < 2; ++row) {
      shifts.push_back(static_cast<double>(next.logits(row, 0) - next.log_probs(row, 0)));
      for (int64_t c = 0; c < next.logits.columns; ++c) {
        EXPECT_NEAR(next.logits(row, c) - next.log_probs(row, c), shifts.back(), 1e-4);
      }
    }
    return shifts;
  };
  const auto of_first = shifts_of(first), of_second = shifts_of(second), together = shifts_of(*pair.inference);
  const auto twice = shifts_of({first.model, first.backend, first.storage, {}, itself});
  for (size_t row = 0; row < 2; ++row) {
    EXPECT_NEAR(together[row], (of_first[row] + of_second[row]) / 2.0, 1e-4);
    EXPECT_NEAR(twice[row], of_first[row], 1e-4);
    EXPECT_GT(std::abs(of_first[row] - of_second[row]), 1e-3);
  }
}

TEST_P(EnsembleOfTranslators, EachModelCachesInTheTypeThatIsAskedFor) {
  const TranslatorPair pair(GetParam());
  const auto cached_in_int8 = [](Inference inference) {
    inference.cached = DType::i8;
    return rows_after(inference, {5, 9, 7, 3}, {2, 8, 6}).back();
  };
  const auto a = cached_in_int8(pair.first.scheduler->inference());
  const auto b = cached_in_int8({*pair.second.model, *pair.second.backend, GetParam()});
  expect_mean(cached_in_int8(*pair.inference), a, b);
  EXPECT_NE(cached_in_int8(*pair.inference), rows_after(*pair.inference, {5, 9, 7, 3}, {2, 8, 6}).back());
}

TEST_P(EnsembleOfTranslators, CandidatesAreOfSomeSequencesAlone) {
  const TranslatorPair pair(GetParam());
  const Ids source{5, 9, 7, 3}, other{6, 3}, tokens{2}, few{3, 6}, more{3, 5, 6, 11};
  const auto stepper = make_stepper(*pair.inference);
  const std::vector<SequenceId> begun = stepper->begin({{source, other}});
  stepper->restrict_to({{{begun[0], few}, {begun[1], more}}});
  const SequenceId free = stepper->begin({{source}}).front();
  const NextTokens next = stepper->next({{{begun[0], tokens}, {begun[1], tokens}, {free, tokens}}});
  ASSERT_EQ(next.log_probs.rows, 3);
  const auto first_of_row = [&](int64_t row, size_t count) {
    auto values = row_of(next.log_probs, row);
    values.resize(count);
    return values;
  };
  EXPECT_EQ(first_of_row(0, 2), rows_after(*pair.inference, source, tokens, few).front());
  EXPECT_EQ(first_of_row(1, 4), rows_after(*pair.inference, other, tokens, more).front());
  const auto all = rows_after(*pair.inference, source, tokens).front();
  EXPECT_EQ(first_of_row(2, all.size()), all);
}

TEST_P(EnsembleOfTranslators, AModelThatComputesNaNIsRefusedWhereverItStands) {
  for (const bool first_is_damaged : {true, false}) {
    TranslatorPair pair(GetParam());
    RandomTranslator& damaged = first_is_damaged ? pair.first : pair.second;
    damaged.backend->fill(damaged.trainables->masters(), std::nan(""));
    damaged.trainables->refresh(*damaged.backend);
    EXPECT_THROW(pair.translate({"two dogs"}, {}), FormatError);
    EXPECT_THROW(pair.translate({"two dogs"}, {.beam = 3}), FormatError);
  }
}

TEST_P(EnsembleOfTranslators, TranslationsHaveTheScoreOfTheirPair) {
  const TranslatorPair pair(GetParam());
  const std::vector<std::string> lines{"two dogs play", "ein Hund", "a man is walking"};
  const auto found = pair.translate(lines, {.beam = 3, .length_penalty = 0.0, .max_length = 12});
  for (size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(pair.translate({lines[i]}, {.beam = 3, .length_penalty = 0.0, .max_length = 12})[0][0].ids,
              found[i][0].ids);
    const std::vector<Ids> sources{source_tokens(*pair.translator, lines[i])}, targets{found[i][0].ids};
    const double scored = score_pairs(*pair.inference, {sources, targets}).front();
    EXPECT_NEAR(scored, found[i][0].translation.score, 1e-4 * std::abs(scored));
  }
}

TEST_P(EnsembleOfTranslators, ScoresAreOfTheMeanTokenByToken) {
  const TranslatorPair pair(GetParam());
  const Inference& first = pair.first.scheduler->inference();
  const Inference second{*pair.second.model, *pair.second.backend, GetParam()};
  const Ids source{5, 9, 7, 3}, target{8, 6};
  const SearchRules rules;
  const Ids read{rules.bos, 8, 6}, expected{8, 6, rules.tokens.eos};
  const auto a = rows_after(first, source, read), b = rows_after(second, source, read);
  double sum = 0.0;
  for (size_t t = 0; t < 3; ++t) {
    const auto token = static_cast<size_t>(expected[t]);
    sum += log_of_mean(a[t][token], b[t][token]);
  }
  EXPECT_NEAR(score_pairs(*pair.inference, {.sources = {source}, .targets = {target}}, rules).front(), sum,
              1e-4 * std::abs(sum));
}

INSTANTIATE_TEST_SUITE_P(Types, EnsembleOfTranslators, testing::Values(DType::f32, DType::bf16),
                         [](const auto& tested) { return std::string(name_of(tested.param)); });

TEST(Ensemble, AttentionIsTheMeanOfTheModels) {
  const TranslatorPair pair;
  const Inference& first = pair.first.scheduler->inference();
  const Inference second{*pair.second.model, *pair.second.backend, DType::f32};
  const std::vector<const AnyModel*> swapped_others{&*pair.first.model}, itself{&*pair.first.model};
  const Inference swapped{*pair.second.model, *pair.first.backend, DType::f32, {}, swapped_others};
  const Inference twice{*pair.first.model, *pair.first.backend, DType::f32, {}, itself};
  const std::vector<Ids> sources{{5, 9, 7, 8, 3}, {6, 3}}, targets{{8, 6, 9, 12}, {11}};
  const TokenPairs pairs{sources, targets};
  EXPECT_EQ(align_pairs(twice, pairs), align_pairs(first, pairs));
  const std::vector<double> alone = coverage_of_pairs(first, pairs), of_second = coverage_of_pairs(second, pairs);
  const std::vector<double> together = coverage_of_pairs(*pair.inference, pairs);
  EXPECT_NE(together, alone);
  EXPECT_NE(together, of_second);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_NEAR(coverage_of_pairs(twice, pairs)[i], alone[i], 1e-9);
    EXPECT_NEAR(coverage_of_pairs(swapped, pairs)[i], together[i], 1e-6);
  }
}

TEST(Ensemble, PerplexityIsOfTheMeanTokenByToken) {
  RandomLanguageModel first(2, DType::f32, 5), second(2, DType::f32, 6);
  const std::vector<const AnyModel*> others{&*second.model};
  const Inference both{*first.model, *first.backend, DType::f32, {}, others};
  Ids tokens;
  for (int32_t i = 0; i < 60; ++i) {
    tokens.push_back(5 + i * 7 % 20);
  }
  const Windows windows{.context = 16, .stride = 6};
  Lanes lanes(*first.backend);
  const std::vector<double> a = surprisals(first.scheduler->inference(), lanes, tokens, windows);
  const std::vector<double> b = surprisals({*second.model, *second.backend, DType::f32}, lanes, tokens, windows);
  const std::vector<double> found = surprisals(both, lanes, tokens, windows);
  ASSERT_EQ(found.size(), a.size());
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(-found[i], log_of_mean(-a[i], -b[i]), 1e-9);
  }
}

TEST(Ensemble, TakesWhatItsShortestModelTakes) {
  const RandomTranslator longer, shorter(DType::f32, 2, 7, 9);
  for (const auto& [first, second] : {std::pair(&longer, &shorter), std::pair(&shorter, &longer)}) {
    const std::vector<const AnyModel*> others{&*second->model};
    const Inference inference{*first->model, *first->backend, DType::f32, {}, others};
    EXPECT_EQ(inference.max_length(), 9);
    EXPECT_EQ(make_stepper(inference)->max_length(), 9);
    Scheduler scheduler(inference);
    const TextTranslator translator{scheduler, {*first->tokenizer, *first->tokenizer}};
    const std::vector<std::string> fits{"aaaaaaaa"}, too_long{"aaaaaaaaa"};
    EXPECT_EQ(translate_lines(translator, fits, {}, {}).size(), 1U);
    EXPECT_THROW(translate_lines(translator, too_long, {}, {}), FormatError);
    EXPECT_THROW(translate_lines(translator, fits, {.rules = {.min_length = 10}}, {}), ConfigError);
    EXPECT_THROW(translate_lines(translator, fits, {.prefixes = too_long}, {}), FormatError);
    EXPECT_THROW(score_lines(translator, {.sources = fits, .targets = too_long}, {}), FormatError);
  }
}

// Finds no room when it is told so.
class FullStepper : public FakeStepper {
 public:
  FullStepper() : FakeStepper(4, 100) {}
  std::vector<SequenceId> begin(std::span<const Ids> sources) override {
    require<BudgetError>(!full, "test", "no room to begin");
    return FakeStepper::begin(sources);
  }
  NextTokens next(std::span<const NewTokens> new_tokens) override {
    require<BudgetError>(!full, "test", "no room");
    return FakeStepper::next(new_tokens);
  }
  bool full = false;

 private:
  void answer(const Ids& /*read*/, std::span<float> row) override { std::ranges::fill(row, std::log(0.25F)); }
};

TEST(Ensemble, WhereOneModelHasNoRoomNoneHasChanged) {
  const auto backend = make_cpu_backend(1);
  std::vector<std::unique_ptr<Stepper>> members;
  std::vector<FullStepper*> steppers;
  for (int i = 0; i < 3; ++i) {
    steppers.push_back(dynamic_cast<FullStepper*>(members.emplace_back(std::make_unique<FullStepper>()).get()));
  }
  EnsembleStepper stepper(std::move(members), *backend);
  const Ids tokens{1, 2, 3}, one{1};
  steppers[2]->full = true;
  EXPECT_THROW(stepper.begin({{Ids(), Ids(), Ids()}}), BudgetError);
  EXPECT_EQ(steppers[0]->sequences() + steppers[1]->sequences(), 0U);
  // From here on, the members call a sequence by different ids.
  steppers[2]->full = false;
  const std::vector<SequenceId> begun = stepper.begin({{Ids(), Ids()}});
  stepper.next({{{begun[0], tokens}, {begun[1], one}}});
  steppers[2]->full = true;
  EXPECT_THROW(stepper.next({{{begun[1], tokens}, {begun[0], tokens}}}), BudgetError);
  steppers[2]->full = false;
  EXPECT_EQ(stepper.length(begun[0]), 3);
  EXPECT_EQ(stepper.length(begun[1]), 1);
  const SequenceId fork = stepper.fork(begun[0]);
  stepper.remove(begun[0]);
  stepper.roll_back(fork, 2);
  stepper.next({{{fork, tokens}, {begun[1], one}}});
  for (const FullStepper* const member : steppers) {
    EXPECT_EQ(member->lengths(), (std::vector<int64_t>{2, 5}));
  }
  stepper.remove(fork);
  EXPECT_THROW(stepper.remove(fork), ShapeError);
  EXPECT_THROW(stepper.length(fork), ShapeError);
}

// Local attention frees what is out of sight, unless it may be rolled back.
TEST(Ensemble, EachModelKeepsWhatMayBeRolledBack) {
  RandomLanguageModel first(2, DType::f32, 5), second(2, DType::f32, 6, 4);
  const std::vector<const AnyModel*> others{&*second.model};
  const Inference both{*first.model, *first.backend, DType::f32, {}, others};
  const auto stepper = make_stepper(both, {.roll_back = 30});
  const SequenceId sequence = stepper->begin({{Ids()}}).front();
  for (int32_t i = 0; i < 38; ++i) {
    const Ids token{5 + i % 7};
    stepper->next({{{sequence, token}}});
  }
  stepper->roll_back(sequence, 8);
  EXPECT_EQ(stepper->length(sequence), 8);
}

class FiveTokens : public FakeStepper {
 public:
  FiveTokens() : FakeStepper(5, 100) {}

 private:
  void answer(const Ids& /*read*/, std::span<float> /*row*/) override {}
};

TEST(Ensemble, RefusesModelsOfOtherVocabularies) {
  const auto backend = make_cpu_backend(1);
  std::vector<std::unique_ptr<Stepper>> members;
  members.push_back(std::make_unique<FullStepper>());
  members.push_back(std::make_unique<FiveTokens>());
  EXPECT_THROW(EnsembleStepper(std::move(members), *backend), ShapeError);
}

}  // namespace
}  // namespace heed::test
