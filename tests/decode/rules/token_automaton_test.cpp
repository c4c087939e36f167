// Texts that keep to an automaton: which tokens may come next, and what comes of sampling.
#include "decode/rules/token_automaton.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "base/errors.h"
#include "decode/language_model_testing.h"
#include "text/lines/multiline.h"
#include "text/token_ids.h"

namespace heed::test {
namespace {

using testing::HasSubstr;
using testing::Not;

// Subwords of "ab ab ba ...", with the bytes below them.
std::unique_ptr<Tokenizer> subwords() {
  int64_t left = 50;
  return train_tokenizer({.kind = TokenizerKind::bpe, .vocabulary = 300, .user_symbols = {"\n"}},
                         [&](std::string& line) { return left-- > 0 && (line = "ab aba bab abab ba b a aab", true); });
}

std::shared_ptr<const TokenTries> tries_of(const Tokenizer& tokenizer, std::span<const int32_t> suppressed = {}) {
  return std::make_shared<const TokenTries>(tokenizer, suppressed);
}

// The tokens that may come next, by the texts alone.
std::set<int32_t> brute_force(const Tokenizer& tokenizer, const std::vector<std::string>& texts,
                              const std::string& so_far, const std::vector<TokenId>& before) {
  std::set<int32_t> allowed;
  for (int32_t token = 5; token < tokenizer.vocabulary_size(); ++token) {
    std::vector<TokenId> longer = before;
    longer.emplace_back(token);
    const std::string text = decode_text(tokenizer, longer);
    const bool begins = std::ranges::any_of(texts, [&](const auto& t) { return t.starts_with(text); });
    if (begins && (text.size() > so_far.size() || tokenizer.bytes_of(TokenId(token)) == " ")) {
      allowed.insert(token);
    }
  }
  return allowed;
}

TEST(TokenAutomaton, AllowsTheTokensOfWhichATextCanBeMade) {
  const auto tokenizer = subwords();
  const std::vector<std::string> texts{"ab", "aba", "b ab", "a\nb", "bab bab", " a"};
  const TokenAutomaton automaton(automaton_of_texts(texts), tries_of(*tokenizer), TextEnd::eos);
  std::vector<std::vector<TokenId>> beginnings{{}};
  int64_t checked = 0;
  for (size_t i = 0; i < beginnings.size() && i < 400; ++i) {
    const std::vector<TokenId> before = beginnings[i];
    TokenAutomaton::State state = automaton.start({});
    for (const TokenId token : before) {
      state = automaton.next(state, token.value);
    }
    const std::string text = decode_text(*tokenizer, before);
    ASSERT_NE(state, TokenAutomaton::kDead) << text;
    EXPECT_EQ(automaton.accepts(state), std::ranges::count(texts, text) == 1) << text;
    const auto kept = automaton.allowed(state);
    const TokenSet& allowed = *kept;
    EXPECT_EQ(allowed.contains(tokenizer->special().eos.value), automaton.accepts(state));
    const std::set<int32_t> expected = brute_force(*tokenizer, texts, text, before);
    for (int32_t token = 5; token < tokenizer->vocabulary_size(); ++token) {
      ASSERT_EQ(allowed.contains(token), expected.contains(token))
          << "'" << text << "' and " << tokenizer->piece(TokenId(token));
      ++checked;
    }
    for (const int32_t token : expected) {
      beginnings.push_back(before);
      beginnings.back().emplace_back(token);
    }
  }
  EXPECT_GT(checked, 5000);
}

TEST(TokenAutomaton, TokensWithoutATextToCompleteAreLeftOut) {
  // No token has the q, so that only the b is a way on.
  const auto tokenizer = characters();
  const TokenAutomaton automaton(automaton_of_regex("a(q|bq|b)|uq"), tries_of(*tokenizer), TextEnd::eos);
  const auto id = [&](const char* piece) { return tokenizer->find(piece)->value; };
  const TokenAutomaton::State start = automaton.start({});
  EXPECT_TRUE(automaton.allowed(start)->contains(id("a")));
  EXPECT_FALSE(automaton.allowed(start)->contains(id("u")));
  const std::vector<int32_t> suppressed{id("b")};
  const TokenAutomaton none(automaton_of_regex("a(q|bq|b)|uq"), tries_of(*tokenizer, suppressed), TextEnd::eos);
  EXPECT_FALSE(none.can_finish(none.start({})));
}

// For each state that texts come to, the fewest tokens to where it accepts, by trying all tokens one by one.
std::map<TokenAutomaton::State, int64_t> fewest_tokens(const TokenAutomaton& automaton, int32_t vocabulary) {
  std::map<TokenAutomaton::State, std::set<TokenAutomaton::State>> next;
  std::vector<TokenAutomaton::State> found{automaton.start({})};
  for (size_t i = 0; i < found.size(); ++i) {
    for (int32_t token = 5; token < vocabulary; ++token) {
      const TokenAutomaton::State to = automaton.next(found[i], token);
      if (to != TokenAutomaton::kDead && next[found[i]].insert(to).second && !std::ranges::count(found, to)) {
        found.push_back(to);
      }
    }
  }
  std::map<TokenAutomaton::State, int64_t> fewest;
  for (int64_t tokens = 0; tokens <= std::ssize(found); ++tokens) {
    for (const TokenAutomaton::State state : found) {
      const bool there =
          tokens == 0 ? automaton.accepts(state) : std::ranges::any_of(next[state], [&](TokenAutomaton::State to) {
            return fewest.contains(to) && fewest[to] == tokens - 1;
          });
      if (there) {
        fewest.emplace(state, tokens);
      }
    }
  }
  return fewest;
}

TEST(TokenAutomaton, AllowsTheTokensWithWhichATextCanBeCompleteInTime) {
  const auto tokenizer = subwords();
  int64_t narrowed = 0;
  for (const char* const expression : {"(ab|ba){2,9}", "a(bab ){3}b|b{30}", "[ab ]{12}\n?a*"}) {
    const TokenAutomaton automaton(automaton_of_regex(expression), tries_of(*tokenizer), TextEnd::eos);
    for (const auto& [state, fewest] : fewest_tokens(automaton, tokenizer->vocabulary_size())) {
      for (int64_t left = 1; left < 34; ++left) {
        ASSERT_EQ(automaton.can_finish_in(state, left), fewest <= left) << expression;
        const auto allowed = automaton.allowed(state, left), all = automaton.allowed(state);
        for (int32_t token = 5; token < tokenizer->vocabulary_size(); ++token) {
          const TokenAutomaton::State to = automaton.next(state, token);
          const bool in_time = fewest > left || (to != TokenAutomaton::kDead && automaton.can_finish_in(to, left - 1));
          ASSERT_EQ(allowed->contains(token), all->contains(token) && in_time) << expression << ", " << left;
          narrowed += all->contains(token) && !in_time ? 1 : 0;
        }
        EXPECT_EQ(allowed->contains(tokenizer->special().eos.value), automaton.accepts(state));
      }
    }
  }
  EXPECT_GT(narrowed, 100);
}

// Sampling ------------------------------------------------------------------------------------------------------------

constexpr const char* kExpression = "a(n|m)?( d|k{1,2})?";
const std::vector<std::string> kAllTexts{"a",  "an",  "am",  "a d",  "an d", "am d",
                                         "ak", "akk", "ank", "ankk", "amk",  "amkk"};

// The distribution of texts, token by token, from the definition: of the tokens that can be completed, in proportion to
// the model's probabilities.
class Enumeration {
 public:
  explicit Enumeration(RandomLanguageModel& model)
      : model_(model), stepper_(make_stepper({*model.model, *model.backend, model.storage})) {}

  std::map<std::string, double> texts() {
    go_on("", 1.0);
    return found_;
  }

 private:
  void go_on(const std::string& text, double probability) {
    const std::vector<int32_t> read = ids_of(encode_text(*model_.tokenizer, "a m" + text));
    static const std::vector<std::vector<int32_t>> kNoSource(1);
    const SequenceId sequence = stepper_->begin(kNoSource).front();
    const std::vector<NewTokens> new_tokens{{sequence, read, RowsWanted::last}};
    const NextTokens next = stepper_->next(new_tokens);
    std::vector<double> p;
    for (int32_t token = 0; token < model_.tokenizer->vocabulary_size(); ++token) {
      p.push_back(std::exp(static_cast<double>(next.log_probs(0, token))));
    }
    stepper_->remove(sequence);
    const bool is_text = std::ranges::count(kAllTexts, text) == 1;
    const bool has_end = model_.documents != Documents::none;
    std::map<std::string, double> ways;
    double total = 0.0, rest = has_end ? p[3] : 0.0;
    for (size_t token = 5; token < p.size(); ++token) {
      const std::string longer = text + *model_.tokenizer->bytes_of(TokenId(static_cast<int32_t>(token)));
      if (std::ranges::any_of(kAllTexts, [&](const auto& t) { return t.starts_with(longer); })) {
        ways[longer] += p[token];
        total += p[token];
      } else if (!has_end) {
        rest += p[token];
      }
    }
    total += is_text ? rest : 0.0;
    if (is_text) {
      found_[text] += probability * rest / total;
    }
    for (const auto& [longer, of_way] : ways) {
      go_on(longer, probability * of_way / total);
    }
  }

  RandomLanguageModel& model_;
  std::unique_ptr<Stepper> stepper_;
  std::map<std::string, double> found_;
};

class Constrained : public testing::TestWithParam<bool> {};

TEST_P(Constrained, SamplingDrawsFromWhatIsAllowed) {
  RandomLanguageModel model(1);
  model.documents = GetParam() ? std::nullopt : std::optional(Documents::none);
  const std::map<std::string, double> expected = Enumeration(model).texts();
  std::map<std::string, int> found;
  int drawn = 0;
  for (const uint64_t seed : {1, 2, 3, 4}) {
    const auto texts = model.generate({"a m"}, {.sampling = {.seed = seed}, .samples = 1000, .regex = kExpression})[0];
    for (const Completion& text : texts) {
      EXPECT_EQ(text.reason, FinishReason::end);
      ++found[text.text];
      ++drawn;
    }
  }
  double statistic = 0.0, few = 0.0, few_found = 0.0;
  int degrees = -1;
  for (const auto& [text, probability] : expected) {
    const double wanted = probability * drawn;
    if (wanted < 5.0) {
      few += wanted;
      few_found += found[text];
      continue;
    }
    statistic += (found[text] - wanted) * (found[text] - wanted) / wanted;
    ++degrees;
  }
  for (const auto& [text, count] : found) {
    EXPECT_TRUE(expected.contains(text)) << text;
  }
  EXPECT_GE(degrees, 4);
  EXPECT_LT(statistic, 35.0) << "of " << degrees << " degrees of freedom";
  EXPECT_LT(std::abs(few_found - few), 5.0 * std::sqrt(few + 1.0));
}

TEST_P(Constrained, DraftsAndCompanyChangeNothing) {
  RandomLanguageModel model(1);
  const RandomLanguageModel same(1);
  model.documents = GetParam() ? std::nullopt : std::optional(Documents::none);
  const std::vector<std::string> prompts{"a man", "two dogs", "die"};
  for (const char* const expression : {kExpression, "[a-z ]{3,20}\\.", "(ab|ba)*k"}) {
    for (const double temperature : {0.0, 1.0}) {
      GenerationOptions options;
      options.sampling.temperature = temperature;
      options.max_tokens = 30;
      options.regex = expression;
      options.rules.suppress = {"aa", "ee"};
      model.draft_with(nullptr);
      const auto expected = model.generate(prompts, options);
      EXPECT_EQ(model.generate({prompts[1]}, options)[0][0].text, expected[1][0].text);
      for (const Drafts by : {Drafts::model, Drafts::prompt}) {
        DraftLog log;
        const Drafting drafting{{.by = by, .tokens = 4}, &*same.model, log};
        model.draft_with(&drafting);
        const auto found = model.generate(prompts, options);
        for (size_t i = 0; i < prompts.size(); ++i) {
          EXPECT_EQ(found[i][0].text, expected[i][0].text) << expression;
          EXPECT_EQ(found[i][0].log_probability, expected[i][0].log_probability);
          EXPECT_EQ(found[i][0].tokens, expected[i][0].tokens);
        }
      }
      model.draft_with(nullptr);
      for (const auto& texts : expected) {
        EXPECT_TRUE(automaton_of_regex(expression).matches(texts[0].text)) << texts[0].text;
        EXPECT_THAT(texts[0].text, Not(HasSubstr("aa")));
      }
    }
  }
}

TEST_P(Constrained, TextsAreCompleteBeforeTheyAreCutOff) {
  RandomLanguageModel model(1);
  model.documents = GetParam() ? std::nullopt : std::optional(Documents::none);
  int64_t cut = 0;
  for (const char* const expression : {"[a-z ]{3,20}\\.", "(ab|ba)*k", "man(ual)? dog(s and dogs)*"}) {
    for (const int64_t beam : {1, 3}) {
      if (beam > 1 && !GetParam()) {
        continue;
      }
      GenerationOptions options{.beam = beam, .max_tokens = 8, .regex = expression};
      options.samples = beam == 1 ? 100 : 3;
      const auto texts = model.generate({"a m", "two"}, options);
      for (const std::vector<Completion>& of_prompt : texts) {
        for (const Completion& text : of_prompt) {
          EXPECT_TRUE(automaton_of_regex(expression).matches(text.text)) << expression << ": " << text.text;
          EXPECT_LE(text.tokens, 8);
          cut += text.reason == FinishReason::length ? 1 : 0;
        }
      }
    }
  }
  EXPECT_GT(cut, 10) << "the limit played no part";
}

INSTANTIATE_TEST_SUITE_P(Ends, Constrained, testing::Bool(),
                         [](const auto& tested) { return tested.param ? "WithEnd" : "ByLeaving"; });

TEST(Constraints, TextsKeepToChoicesAndSuppressedTexts) {
  RandomLanguageModel model(1);
  const RandomTranslator translator;
  GenerationOptions options;
  options.choices = {"park", "man", "manual dog"};
  options.samples = 20;
  const auto sampled_texts = model.generate({"a "}, options);
  for (const Completion& text : sampled_texts[0]) {
    EXPECT_TRUE(std::ranges::count(options.choices, text.text)) << text.text;
  }
  options.beam = 4;
  options.samples = 3;
  std::set<std::string> beam;
  const auto beam_texts = model.generate({"a "}, options);
  for (const Completion& text : beam_texts[0]) {
    beam.insert(text.text);
  }
  EXPECT_TRUE(std::ranges::includes(std::set<std::string>(options.choices.begin(), options.choices.end()), beam));
  TranslationOptions translation;
  translation.beam = 3;
  const std::string usual = translator.translate({"a man"}, translation)[0][0].translation.text;
  ASSERT_GE(usual.size(), 3U);
  const std::string written = usual.substr(usual.size() - 2);
  ASSERT_THAT(written, Not(HasSubstr(" ")));
  translation.rules.suppress = {written};
  const auto other = translator.translate({"a man"}, translation);
  EXPECT_THAT(other[0][0].translation.text, Not(HasSubstr(written)));
}

TEST(Constraints, ThatNoTextCanMeetAreRefused) {
  RandomLanguageModel model(1);
  const auto refusal_of = [&](const std::vector<std::string>& prompts,
                              const GenerationOptions& options) -> std::string {
    try {
      model.generate(prompts, options);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "none";
  };
  const auto refusal = [&](const GenerationOptions& options) { return refusal_of({}, options); };
  GenerationOptions options;
  options.regex = "a[^\\x00-\\x{10FFFF}]";
  EXPECT_THAT(refusal(options), HasSubstr("no text at all is allowed"));
  options.regex = "q+";
  EXPECT_THAT(refusal(options), HasSubstr("cannot write any text"));
  options.regex = "[a-c]+";
  options.rules.suppress = {"a", "b", "c"};
  EXPECT_THAT(refusal(options), HasSubstr("no text at all is allowed"));
  options.rules.suppress = {""};
  EXPECT_THAT(refusal(options), HasSubstr("empty"));
  options = {};
  options.regex = "m{20}";
  options.max_tokens = 19;
  EXPECT_EQ(refusal_of({"a"}, options),
            "prompt:1: every text that is allowed after this prompt has more than 19 tokens");
  options.max_tokens = 20;
  EXPECT_EQ(refusal_of({"a"}, options), "none");
  options = {};
  options.regex = "a*";
  options.beam = 2;
  model.documents = Documents::none;
  EXPECT_THAT(refusal(options), HasSubstr("leave out the beam"));
}

}  // namespace
}  // namespace heed::test
