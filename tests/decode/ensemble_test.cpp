// Ensembles: several models whose probabilities are averaged, in steps, scores, perplexities and alignments.
#include <gtest/gtest.h>

#include <cmath>
#include <optional>

#include "decode/alignment.h"
#include "decode/ensemble_stepper.h"
#include "decode/fake_stepper.h"
#include "decode/language_model_testing.h"
#include "decode/perplexity.h"
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
    translator.emplace(TextTranslator{*scheduler, *first.tokenizer, *first.tokenizer});
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
  const NextTokens next = stepper->next({{{sequence, tokens, Wanted::all}}});
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
  const NextTokens next = stepper->next({{{begun[0], one, Wanted::none}, {fork, std::span(tokens).last(1)}}});
  ASSERT_EQ(next.log_probs.rows, 1);
  EXPECT_EQ(row_of(next.log_probs, 0), expected);
  EXPECT_EQ(row_of(next.logits, 0), expected);
  EXPECT_EQ(stepper->next({{{begun[0], one, Wanted::none}}}).log_probs.rows, 0);
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
  const std::vector<double> a = surprises(first.scheduler->inference(), lanes, tokens, windows);
  const std::vector<double> b = surprises({*second.model, *second.backend, DType::f32}, lanes, tokens, windows);
  const std::vector<double> found = surprises(both, lanes, tokens, windows);
  ASSERT_EQ(found.size(), a.size());
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(-found[i], log_of_mean(-a[i], -b[i]), 1e-9);
  }
}

TEST(Ensemble, TakesWhatItsShortestModelTakes) {
  const RandomTranslator longer, shorter(DType::f32, 2, 7, 9);
  const std::vector<const AnyModel*> others{&*shorter.model};
  const Inference inference{*longer.model, *longer.backend, DType::f32, {}, others};
  EXPECT_EQ(inference.max_length(), 9);
  EXPECT_EQ(make_stepper(inference)->max_length(), 9);
}

// Finds no room when it is told so.
class FullStepper : public FakeStepper {
 public:
  FullStepper() : FakeStepper(4, 100) {}
  std::vector<SequenceId> begin(std::span<const Ids> sources) override {
    require<BudgetError>(!full, "test", "no room to begin");
    return FakeStepper::begin(sources);
  }
  NextTokens next(std::span<const Fresh> fresh) override {
    require<BudgetError>(!full, "test", "no room");
    return FakeStepper::next(fresh);
  }
  bool full = false;

 private:
  void answer(const Ids& /*read*/, std::span<float> row) override { std::ranges::fill(row, std::log(0.25F)); }
};

TEST(Ensemble, WhereOneModelHasNoRoomNoneHasChanged) {
  const auto backend = make_cpu_backend(1);
  std::vector<std::unique_ptr<Stepper>> members;
  auto& roomy = dynamic_cast<FullStepper&>(*members.emplace_back(std::make_unique<FullStepper>()));
  auto& full = dynamic_cast<FullStepper&>(*members.emplace_back(std::make_unique<FullStepper>()));
  EnsembleStepper stepper(std::move(members), *backend);
  const std::vector<SequenceId> begun = stepper.begin({{Ids(), Ids()}});
  const Ids tokens{1, 2, 3};
  stepper.next({{{begun[0], tokens}, {begun[1], tokens}}});
  full.full = true;
  EXPECT_THROW(stepper.begin({{Ids(), Ids(), Ids()}}), BudgetError);
  EXPECT_EQ(roomy.sequences(), 2U);
  EXPECT_THROW(stepper.next({{{begun[1], tokens}, {begun[0], tokens}}}), BudgetError);
  for (const SequenceId sequence : begun) {
    EXPECT_EQ(stepper.length(sequence), 3);
  }
  full.full = false;
  const NextTokens next = stepper.next({{{begun[1], tokens}}});
  EXPECT_EQ(stepper.length(begun[1]), 6);
  EXPECT_NEAR(next.log_probs(0, 2), std::log(0.25F), 1e-6);
  for (const SequenceId sequence : begun) {
    stepper.remove(sequence);
  }
  EXPECT_EQ(roomy.sequences() + full.sequences(), 0U);
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
