// The tokens that texts are made of, with the likeliest at their positions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "decode/drafts/speculation.h"
#include "decode/language_model_testing.h"
#include "text/lines/multiline.h"
#include "text/token_ids.h"

namespace heed::test {
namespace {

constexpr int64_t kListed = 5;

GenerationOptions listing(GenerationOptions options) {
  options.each = EachToken::listed;
  options.likeliest = kListed;
  return options;
}

// By one pass over the whole text: the likeliest tokens after the prompt and what was written.
void expect_likeliest(RandomLanguageModel& m, const std::string& prompt, const Completion& completion) {
  std::vector<int32_t> tokens = ids_of(encode_text(*m.tokenizer, prompt));
  const size_t first = tokens.size() - 1;
  for (const ScoredToken& token : completion.each) {
    tokens.push_back(token.id);
  }
  Pass pass = Pass::infer(*m.backend, m.storage);
  const Sequences sequences({tokens});
  const CausalLM& model = m.model->causal_lm();
  const LogProbs log_probs = log_softmax(pass, model.logits(pass, model.hidden(pass, sequences)));
  const HostView<float> rows = host<float>(log_probs.var().value());
  for (size_t i = 0; i < completion.each.size(); ++i) {
    const ScoredToken& token = completion.each[i];
    ASSERT_EQ(token.likeliest.size(), static_cast<size_t>(kListed));
    const float* const row = rows.row(static_cast<int64_t>(first + i));
    EXPECT_EQ(token.log_probability, static_cast<double>(row[token.id]));
    std::vector<float> all(row, row + rows.columns);
    std::ranges::sort(all, std::greater());
    for (size_t k = 0; k < token.likeliest.size(); ++k) {
      EXPECT_EQ(token.likeliest[k].log_probability, static_cast<double>(all[k]));
      EXPECT_EQ(token.likeliest[k].log_probability, static_cast<double>(row[token.likeliest[k].id]));
      EXPECT_EQ(token.likeliest[k].piece, m.tokenizer->piece(TokenId(token.likeliest[k].id)));
    }
  }
}

TEST(TokenScores, TheLikeliestTokensAreThoseOfTheModelsOwnDistribution) {
  RandomLanguageModel m;
  m.bias(m.tokenizer->special().eos, 2.0F);
  const std::vector<std::string> prompts{"two dogs", "ein", "a"};
  std::vector<GenerationOptions> all{{.samples = 2, .max_tokens = 9}, {.beam = 3, .samples = 3, .max_tokens = 9}};
  all.push_back({.sampling = {.temperature = 0.0}, .max_tokens = 9});
  // Penalties and temperature change what is drawn, not what is listed.
  all.push_back({.sampling = {.temperature = 3.0, .repetition_penalty = 1.5}, .max_tokens = 9});
  for (const GenerationOptions& options : all) {
    const auto plain = m.generate(prompts, options), listed = m.generate(prompts, listing(options));
    for (size_t i = 0; i < prompts.size(); ++i) {
      for (size_t sample = 0; sample < plain[i].size(); ++sample) {
        EXPECT_EQ(listed[i][sample].text, plain[i][sample].text);
        EXPECT_EQ(listed[i][sample].log_probability, plain[i][sample].log_probability);
        EXPECT_EQ(std::ssize(listed[i][sample].each), plain[i][sample].tokens);
        expect_likeliest(m, prompts[i], listed[i][sample]);
      }
    }
  }
}

TEST(TokenScores, DraftsChangeNone) {
  RandomLanguageModel m;
  const GenerationOptions options = listing({.max_tokens = 25});
  const auto plain = m.generate({"two dogs", "a man"}, options);
  DraftLog log;
  const Drafting drafting{.options = {.by = Drafts::prompt, .tokens = 3}, .log = log};
  m.draft_with(&drafting);
  const auto drafted = m.generate({"two dogs", "a man"}, options);
  for (size_t i = 0; i < 2; ++i) {
    const Completion& a = plain[i][0];
    const Completion& b = drafted[i][0];
    EXPECT_EQ(a.text, b.text);
    ASSERT_EQ(a.each.size(), b.each.size());
    for (size_t t = 0; t < a.each.size(); ++t) {
      EXPECT_EQ(a.each[t].id, b.each[t].id);
      EXPECT_EQ(a.each[t].text_offset, b.each[t].text_offset);
      for (size_t k = 0; k < a.each[t].likeliest.size(); ++k) {
        EXPECT_EQ(a.each[t].likeliest[k].id, b.each[t].likeliest[k].id);
        EXPECT_EQ(a.each[t].likeliest[k].log_probability, b.each[t].likeliest[k].log_probability);
      }
    }
  }
}

// What a listener hears of each text.
class Hears final : public GenerationListener {
 public:
  void on_token(const Text& text, const ScoredToken& token) override {
    EXPECT_FALSE(completions.contains({text.prompt, text.sample}));
    tokens[{text.prompt, text.sample}].push_back(token);
    EXPECT_GE(static_cast<size_t>(token.text_offset), (texts[{text.prompt, text.sample}].size()));
  }
  void on_piece(const Text& text, std::string_view piece) override {
    EXPECT_FALSE((tokens[{text.prompt, text.sample}].empty()));
    texts[{text.prompt, text.sample}] += piece;
  }
  void on_completion(const Text& text, const Completion& completion) override {
    completions[{text.prompt, text.sample}] = completion;
  }

  std::map<std::pair<size_t, int64_t>, std::vector<ScoredToken>> tokens;
  std::map<std::pair<size_t, int64_t>, std::string> texts;
  std::map<std::pair<size_t, int64_t>, Completion> completions;
};

// Characters are tokens, so that each offset is known.
TEST(TokenScores, AListenerHearsEachTokenBeforeItsPiece) {
  RandomLanguageModel m;
  m.bias(m.tokenizer->special().eos, 1.0F);
  const std::vector<std::string> prompts{"two dogs", "ein", "a man"};
  for (const int64_t beam : {1, 3}) {
    Hears heard;
    const auto found = m.generate(prompts, listing({.beam = beam, .samples = 3, .max_tokens = 20}), &heard);
    for (size_t i = 0; i < prompts.size(); ++i) {
      for (int64_t sample = 0; sample < 3; ++sample) {
        const Completion& completion = found[i][static_cast<size_t>(sample)];
        EXPECT_EQ((heard.texts[{i, sample}]), completion.text);
        const std::vector<ScoredToken>& tokens = heard.tokens[{i, sample}];
        ASSERT_EQ(tokens.size(), completion.each.size());
        std::string text;
        for (size_t t = 0; t < tokens.size(); ++t) {
          EXPECT_EQ(tokens[t].id, completion.each[t].id);
          EXPECT_EQ(tokens[t].likeliest.size(), completion.each[t].likeliest.size());
          EXPECT_EQ(tokens[t].text_offset, std::ssize(text));
          EXPECT_EQ(tokens[t].text_offset, completion.each[t].text_offset);
          text += *tokens[t].bytes;
        }
        EXPECT_EQ(text, completion.text);
      }
    }
  }
}

// The tokens of a stop text begin at the end of the text or behind it.
TEST(TokenScores, AStopTextBeginsAfterTheText) {
  RandomLanguageModel m;
  m.bias(m.tokenizer->special().eos, -1e4F);
  for (const int64_t beam : {1, 2}) {
    const Completion whole = m.generate({"two dogs"}, {.beam = beam, .max_tokens = 30}).front().front();
    const std::string stop = whole.text.substr(whole.text.size() / 2, 3);
    const size_t end = whole.text.find(stop);
    const auto found = m.generate({"two dogs"}, listing({.beam = beam, .max_tokens = 30, .stop = {stop}}));
    const Completion& stopped = found.front().front();
    EXPECT_EQ(stopped.text, whole.text.substr(0, end));
    std::string text;
    for (const ScoredToken& token : stopped.each) {
      EXPECT_EQ(static_cast<size_t>(token.text_offset), text.size());
      text += *token.bytes;
    }
    EXPECT_TRUE(text.starts_with(stopped.text + stop));
  }
}

TEST(TokenScores, BeamSearchReportsTextsAsTheyAreReady) {
  RandomLanguageModel m;
  struct Stops final : GenerationListener {
    void on_completion(const Text& /*text*/, const Completion& /*completion*/) override {
      ++told;
      stop.request_stop();
    }
    std::stop_source stop;
    size_t told = 0;
  };
  Stops stops;
  std::vector<std::string> prompts;
  for (size_t i = 0; i < 120; ++i) {
    prompts.push_back(corpus()[i % 2].substr(0, 1 + i % 11));
  }
  GenerationOptions options{.beam = 2, .max_tokens = 20};
  options.interruption.stop = stops.stop.get_token();
  EXPECT_THROW(m.generate(prompts, options, &stops), InterruptedError);
  EXPECT_GE(stops.told, 1U);
  EXPECT_LT(stops.told, prompts.size());
}

TEST(TokenScores, TranslationsHaveTheirLikeliestTokens) {
  const RandomTranslator t;
  for (const int64_t beam : {1, 4}) {
    TranslationOptions options{.beam = beam, .n_best = beam, .max_length = 9, .each = EachToken::listed};
    const auto plain = t.translate({"two dogs", "ein Hund"}, options);
    options.likeliest = 4;
    const auto found = t.translate({"two dogs", "ein Hund"}, options);
    for (size_t i = 0; i < 2; ++i) {
      ASSERT_EQ(found[i].size(), plain[i].size());
      for (size_t k = 0; k < found[i].size(); ++k) {
        const Translation& translation = found[i][k].translation;
        EXPECT_EQ(translation.text, plain[i][k].translation.text);
        EXPECT_EQ(std::ssize(translation.each), translation.tokens);
        int64_t listed = 0;
        for (const ScoredToken& token : translation.each) {
          ASSERT_EQ(token.likeliest.size(), 4U);
          EXPECT_TRUE(std::ranges::is_sorted(token.likeliest, std::greater(), &LikelyToken::log_probability));
          for (const LikelyToken& likely : token.likeliest) {
            if (likely.id == token.id) {
              EXPECT_EQ(likely.log_probability, token.log_probability);
              ++listed;
            }
          }
        }
        EXPECT_GE(listed, translation.tokens / 2);
      }
    }
  }
}

TEST(TokenScores, TooManyAreRefused) {
  RandomLanguageModel m;
  EXPECT_THROW(m.generate({"a"}, {.each = EachToken::listed, .likeliest = 21}), ConfigError);
  EXPECT_THROW(m.generate({"a"}, {.likeliest = 1}), ConfigError);
  EXPECT_THROW(validate(TranslationOptions{.likeliest = 1}), ConfigError);
}

}  // namespace
}  // namespace heed::test
