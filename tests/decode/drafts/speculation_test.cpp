#include "decode/drafts/speculation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>

#include "decode/language_model_testing.h"
#include "decode/steppers/fake_stepper.h"
#include "decode/texts/generation.h"
#include "decode/texts/translation/text_translation.h"

namespace heed::test {
namespace {

using testing::HasSubstr;
using Ids = std::vector<int32_t>;

constexpr int32_t kTokens = 4;

// What follows depends on the last two tokens.
double logit(const Ids& read, int32_t token) {
  const int32_t before = read.size() > 1 ? read[read.size() - 2] : 0;
  return 2.0 * uniform_draw(RandomKey{9}, static_cast<uint64_t>(100 * before + 10 * read.back() + token));
}

class TinyModel final : public FakeStepper {
 public:
  TinyModel() : FakeStepper(kTokens, 1000) {}

 private:
  void answer(const Ids& read, std::span<float> row) override {
    for (int32_t token = 0; token < kTokens; ++token) {
      row[static_cast<size_t>(token)] = static_cast<float>(logit(read, token));
    }
  }
};

// Says what a function says, as many tokens as it may.
class Says final : public Drafter {
 public:
  using Next = std::function<int32_t(const DraftTask& task, const Ids& tokens)>;
  explicit Says(Next next) : next_(std::move(next)) {}

  Work draft(std::span<const DraftTask> tasks, const DraftLengthPolicy& /*policy*/, std::span<Draft> drafts) override {
    for (size_t i = 0; i < tasks.size(); ++i) {
      Ids tokens(tasks[i].tokens.begin(), tasks[i].tokens.end());
      while (static_cast<int64_t>(drafts[i].tokens.size()) < tasks[i].most) {
        drafts[i].tokens.push_back(next_(tasks[i], tokens));
        drafts[i].confidence.push_back(0.5);
        tokens.push_back(drafts[i].tokens.back());
      }
    }
    return {.steps = 1};
  }
  void forget(int64_t /*text*/) override {}

 private:
  Next next_;
};

// What the model draws itself, as long as the penalties are those before the draft.
int32_t drawn_from_blurred(const SamplingOptions& sampling, double blur, const DraftTask& task, const Ids& tokens) {
  std::vector<float> logits;
  for (int32_t token = 0; token < kTokens; ++token) {
    logits.push_back(static_cast<float>(blur * logit(tokens, token)));
  }
  TokenCounts counts = task.counts;
  for (size_t i = task.tokens.size(); i < tokens.size(); ++i) {
    counts.add_written(tokens[i]);
  }
  SamplingMemory memory;
  const Draw draw{task.draw.key, task.draw.position + tokens.size() - task.tokens.size()};
  return Sampler(sampling, {}).sample(logits, counts, draw, memory);
}

int32_t unlikeliest(const Ids& tokens) {
  int32_t worst = 0;
  for (int32_t token = 1; token < kTokens; ++token) {
    worst = logit(tokens, token) < logit(tokens, worst) ? token : worst;
  }
  return worst;
}

std::vector<std::pair<std::string, Says::Next>> drafters(const SamplingOptions& sampling) {
  return {
      {"good", [=](const auto& task, const Ids& tokens) { return drawn_from_blurred(sampling, 1.0, task, tokens); }},
      {"similar", [=](const auto& task, const Ids& tokens) { return drawn_from_blurred(sampling, 0.7, task, tokens); }},
      {"bad", [](const auto&, const Ids&) { return 0; }},
      {"adversarial", [](const auto&, const Ids& tokens) { return unlikeliest(tokens); }}};
}

// Samples of one prompt, of three tokens each.
class Samples final : public TextWriter {
 public:
  static constexpr size_t kLength = 3;

  explicit Samples(int64_t samples) : texts(static_cast<size_t>(samples)) {}

  Verdict take_token(const Written& written) override {
    Ids& text = texts[static_cast<size_t>(written.sample)];
    text.push_back(written.token);
    log_probability += written.log_probability;
    accepted += written.accepted;
    return text.size() == kLength ? Verdict::ended : Verdict::go_on;
  }
  void interrupt(Interrupted /*why*/) override {}

  std::vector<Ids> texts;
  double log_probability = 0.0;
  int64_t accepted = 0;
};

Samples sampled(const SamplingOptions& options, int64_t count, const Says::Next& next) {
  TinyModel model;
  Samples samples(count);
  const Sampler sampler(options, {});
  const Ids prompt{1, 2, 1};
  GenerationRequest request({.prompt = prompt, .samples = count, .sampler = sampler, .seed = options.seed}, samples);
  std::vector<Request*> requests{&request};
  if (next) {
    Speculation speculation(std::make_unique<Says>(next), 2);
    run_together(model, requests, &speculation);
  } else {
    run_together(model, requests);
  }
  EXPECT_EQ(model.sequences(), 0U);
  return samples;
}

// The distribution of the next token, from the definitions of the options alone.
std::vector<double> next_token(const SamplingOptions& o, const Ids& text, size_t prompt) {
  std::vector<double> z, p(kTokens, 0.0);
  for (int32_t token = 0; token < kTokens; ++token) {
    const auto in_text = std::ranges::count(text, token);
    const auto written = std::count(text.begin() + static_cast<int64_t>(prompt), text.end(), token);
    double value = static_cast<double>(static_cast<float>(logit(text, token)));
    value = in_text == 0 ? value : value > 0.0 ? value / o.repetition_penalty : value * o.repetition_penalty;
    z.push_back(written == 0 ? value : value - o.presence_penalty - static_cast<double>(written) * o.frequency_penalty);
  }
  Ids order{0, 1, 2, 3};
  std::ranges::stable_sort(order, std::greater(), [&](int32_t token) { return z[static_cast<size_t>(token)]; });
  order.resize(o.top_k == 0 ? kTokens : static_cast<size_t>(o.top_k));
  double total = 0.0, kept = 0.0;
  for (const int32_t token : order) {
    total += std::exp(z[static_cast<size_t>(token)] / o.temperature);
  }
  const double largest = std::exp(z[static_cast<size_t>(order.front())] / o.temperature) / total;
  for (const int32_t token : order) {
    const double of_token = std::exp(z[static_cast<size_t>(token)] / o.temperature) / total;
    if (kept < o.top_p && of_token >= o.min_p * largest) {
      p[static_cast<size_t>(token)] = of_token;
    }
    kept += of_token;
  }
  double sum = 0.0;
  for (const double of_token : p) {
    sum += of_token;
  }
  for (double& of_token : p) {
    of_token /= sum;
  }
  return p;
}

void enumerate(const SamplingOptions& options, Ids& text, double probability, std::map<Ids, double>& texts) {
  constexpr size_t kPrompt = 3;
  if (text.size() == kPrompt + Samples::kLength) {
    texts[Ids(text.begin() + kPrompt, text.end())] = probability;
    return;
  }
  const std::vector<double> next = next_token(options, text, kPrompt);
  for (int32_t token = 0; token < kTokens; ++token) {
    if (next[static_cast<size_t>(token)] > 0.0) {
      text.push_back(token);
      enumerate(options, text, probability * next[static_cast<size_t>(token)], texts);
      text.pop_back();
    }
  }
}

std::map<Ids, double> all_texts(const SamplingOptions& options) {
  std::map<Ids, double> texts;
  Ids text{1, 2, 1};
  enumerate(options, text, 1.0, texts);
  return texts;
}

// Pearson's statistic over its degrees of freedom.
double chi_squared_of_texts(const std::vector<Ids>& texts, const std::map<Ids, double>& expected) {
  std::map<Ids, double> found;
  for (const Ids& text : texts) {
    EXPECT_TRUE(expected.contains(text));
    found[text] += 1.0;
  }
  double statistic = 0.0;
  for (const auto& [text, probability] : expected) {
    const double mean = probability * static_cast<double>(texts.size());
    statistic += (found[text] - mean) * (found[text] - mean) / mean;
  }
  return statistic / std::max(1.0, static_cast<double>(expected.size() - 1));
}

const std::vector<SamplingOptions> kSamplings{
    {},
    {.temperature = 0.6, .top_k = 3},
    {.temperature = 1.3, .top_p = 0.8},
    {.min_p = 0.4},
    {.repetition_penalty = 1.7, .presence_penalty = 0.4, .frequency_penalty = 0.3},
    {.temperature = 0.8, .top_k = 3, .top_p = 0.9, .min_p = 0.1, .repetition_penalty = 1.2, .frequency_penalty = 0.5}};

// With 63 degrees of freedom or fewer, and a mean that is 1, 2.2 is exceeded once in millions of times.
TEST(Speculation, TextsAreDistributedAsTheModelAndTheOptionsSay) {
  for (size_t i = 0; i < kSamplings.size(); ++i) {
    const std::map<Ids, double> expected = all_texts(kSamplings[i]);
    for (const auto& [name, next] : drafters(kSamplings[i])) {
      EXPECT_LT(chi_squared_of_texts(sampled(kSamplings[i], 6000, next).texts, expected), 2.2) << i << " " << name;
    }
  }
  EXPECT_GT(chi_squared_of_texts(sampled({}, 6000, drafters({}).back().second).texts, all_texts({.temperature = 1.3})),
            2.2)
      << "the test can tell";
}

TEST(Speculation, DraftsChangeNoTokenAndNoProbability) {
  for (SamplingOptions sampling : kSamplings) {
    for (const double temperature : {sampling.temperature, 0.0}) {
      sampling.temperature = temperature;
      const Samples plain = sampled(sampling, 200, {});
      for (const auto& [name, next] : drafters(sampling)) {
        const Samples drafted = sampled(sampling, 200, next);
        EXPECT_EQ(drafted.texts, plain.texts) << name;
        EXPECT_EQ(drafted.log_probability, plain.log_probability) << name;
      }
    }
  }
}

TEST(Speculation, ADraftOfTheModelsOwnIsAlwaysRightAndASimilarOneMostly) {
  std::map<std::string, int64_t> accepted;
  for (const auto& [name, next] : drafters({})) {
    accepted[name] = sampled({}, 2000, next).accepted;
  }
  // Neither the prompt's step has a draft nor the next, which shows how long a step takes. The third token is drafted.
  EXPECT_EQ(accepted["good"], 2000);
  EXPECT_GT(accepted["similar"], accepted["good"] * 8 / 10);
  EXPECT_LT(accepted["adversarial"], accepted["good"] / 3);
}

// Real models ---------------------------------------------------------------------------------------------------------

const std::vector<std::string> kPrompts{"a man is", "two dogs", "", "a man is walking in the park. two", "zur"};

void expect_same_completions(const std::vector<std::vector<Completion>>& found,
                             const std::vector<std::vector<Completion>>& expected, const std::string& what) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i].size(), expected[i].size());
    for (size_t sample = 0; sample < found[i].size(); ++sample) {
      EXPECT_EQ(found[i][sample].text, expected[i][sample].text) << what << ", prompt " << i;
      EXPECT_EQ(found[i][sample].log_probability, expected[i][sample].log_probability) << what << ", prompt " << i;
      EXPECT_EQ(found[i][sample].tokens, expected[i][sample].tokens) << what << ", prompt " << i;
    }
  }
}

class DraftsOfModels : public testing::TestWithParam<DType> {};

struct NamedDrafts {
  std::string name;
  Drafts by;
  const AnyModel* model;
};

TEST_P(DraftsOfModels, ATextIsTheSameWithAnyDraftInAnyCompany) {
  RandomLanguageModel model(2, GetParam());
  const RandomLanguageModel other(2, GetParam(), 6);
  const std::vector<NamedDrafts> drafters{{"itself", Drafts::model, &*model.model},
                                          {"another", Drafts::model, &*other.model},
                                          {"prompt", Drafts::prompt, nullptr},
                                          {"layers", Drafts::layers, nullptr}};
  for (const double temperature : {0.0, 0.8}) {
    const GenerationOptions options{.sampling = {.temperature = temperature, .top_p = 0.95, .frequency_penalty = 0.1},
                                    .samples = temperature == 0.0 ? 1 : 2,
                                    .max_tokens = 60};  // beyond what the model takes
    model.draft_with(nullptr);
    const auto expected = model.generate(kPrompts, options);
    for (const int64_t tokens : {0, 1, 9}) {
      for (const auto& [name, by, drafts] : drafters) {
        DraftLog log;
        const Drafting drafting{{.by = by, .layers = 1, .tokens = tokens}, drafts, log};
        model.draft_with(&drafting);
        expect_same_completions(model.generate(kPrompts, options), expected,
                                fmt::format("{}, {} tokens", name, tokens));
        expect_same_completions(model.generate({kPrompts[1]}, options), {expected[1]}, name + " alone");
        EXPECT_LE(log.report().accepted, log.report().drafted);
      }
    }
  }
}

TEST_P(DraftsOfModels, AModelThatDraftsForItselfIsAlwaysRight) {
  RandomLanguageModel model(1, GetParam());
  model.bias(model.tokenizer->special().eos, -100.0F);
  DraftLog log;
  const Drafting drafting{{.by = Drafts::model, .tokens = 3}, &*model.model, log};
  model.draft_with(&drafting);
  model.generate({"a man"}, {.sampling = {.temperature = 0.7}, .max_tokens = 30});
  const DraftReport report = log.report();
  EXPECT_GT(report.accepted, 15);
  EXPECT_GE(report.accepted, report.drafted - 3) << "all but those after the end";
}

TEST_P(DraftsOfModels, ATranslationIsTheSameWithAnyDraft) {
  RandomTranslator model(GetParam());
  const RandomTranslator same(GetParam());
  const std::vector<std::string> lines{"a man", "", "two dogs play", "ein Hund läuft über", "zur", "a man is walking"};
  const auto expected = model.translate(lines);
  for (const int64_t tokens : {0, 4, 32}) {
    for (const Drafts by : {Drafts::model, Drafts::prompt, Drafts::layers}) {
      DraftLog log;
      const Drafting drafting{{.by = by, .layers = 1, .tokens = tokens}, &*same.model, log};
      model.draft_with(&drafting);
      const auto found = model.translate(lines);
      for (size_t i = 0; i < lines.size(); ++i) {
        ASSERT_EQ(found[i].size(), expected[i].size());
        EXPECT_EQ(found[i][0].ids, expected[i][0].ids) << i;
        EXPECT_EQ(found[i][0].translation.score, expected[i][0].translation.score) << i;
      }
      if (by == Drafts::model && tokens == 4) {
        EXPECT_GT(log.report().acceptance(), 0.7);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, DraftsOfModels, testing::Values(DType::f32, DType::bf16),
                         [](const auto& tested) { return std::string(name_of(tested.param)); });

TEST(Speculation, DraftsChangeNothingWhereKeysAndValuesAreRounded) {
  RandomLanguageModel model(2, DType::f32);
  const RandomLanguageModel other(2, DType::f32, 6);
  model.cache_in(DType::i8);
  const GenerationOptions options{.sampling = {.temperature = 0.8}, .samples = 2, .max_tokens = 60};
  const auto expected = model.generate(kPrompts, options);
  DraftLog log;
  const Drafting drafting{{.by = Drafts::model, .tokens = 4}, &*other.model, log};
  model.draft_with(&drafting);
  expect_same_completions(model.generate(kPrompts, options), expected, "int8");
  EXPECT_GT(log.report().drafted, 0);
}

TEST(Speculation, BeamSearchTakesNoDrafts) {
  RandomLanguageModel model(1);
  RandomTranslator translator;
  DraftLog log;
  const Drafting drafting{{.by = Drafts::prompt}, nullptr, log};
  model.draft_with(&drafting);
  translator.draft_with(&drafting);
  EXPECT_THROW(model.generate({}, {.beam = 2}), ConfigError);
  EXPECT_THROW(translator.translate({}, {.beam = 2}), ConfigError);
}

TEST(Speculation, OptionsThatMakeNoSenseAreNamed) {
  const std::vector<std::pair<DraftOptions, std::string>> cases{
      {{.by = Drafts::prompt, .tokens = 33}, "draft tokens is 33"},
      {{.by = Drafts::prompt, .tokens = -1}, "draft tokens is -1"},
      {{.by = Drafts::layers, .layers = 0}, "draft layers is 0"},
      {{.by = Drafts::layers, .layers = 2}, "draft layers is 2"}};
  for (const auto& [options, message] : cases) {
    try {
      validate(options, 2);
      ADD_FAILURE() << "expected: " << message;
    } catch (const ConfigError& error) {
      EXPECT_THAT(error.what(), HasSubstr(message));
    }
  }
  EXPECT_NO_THROW(validate(DraftOptions{.by = Drafts::layers, .layers = 1, .tokens = 32}, 2));
}

}  // namespace
}  // namespace heed::test
