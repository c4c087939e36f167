#include "decode/texts/text_generation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "decode/language_model_testing.h"
#include "decode/scoring/perplexity.h"
#include "decode/steppers/stepper.h"
#include "decode/texts/text_stream.h"
#include "text/huggingface/huggingface_tokenizer.h"
#include "text/lines/multiline.h"

namespace heed::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

void expect_same(const Completion& a, const Completion& b) {
  EXPECT_EQ(a.text, b.text);
  EXPECT_EQ(a.tokens, b.tokens);
  EXPECT_EQ(a.log_probability, b.log_probability);
  EXPECT_EQ(a.reason, b.reason);
}

template <class Kind, class Run>
std::string message_of(Run&& run) {
  try {
    run();
  } catch (const Kind& error) {
    return error.what();
  }
  return "nothing was thrown";
}

std::vector<std::string> many_prompts() {
  std::vector<std::string> prompts;
  for (size_t i = 0; i < 150; ++i) {
    prompts.push_back(corpus()[i % 2].substr(0, 1 + i % 11));
  }
  return prompts;
}

// More prompts than a batch has room for, of which some end early.
TEST(TextGeneration, APromptGivesTheSameTextWhateverElseIsInTheBatch) {
  RandomLanguageModel m;
  m.bias(m.tokenizer->special().eos, 2.0F);
  GenerationOptions options{.samples = 2, .max_tokens = 12};
  options.sampling.top_p = 0.95;
  const std::vector<std::string> prompts = many_prompts();
  const auto together = m.generate(prompts, options);
  RandomLanguageModel one_thread(1);
  one_thread.bias(m.tokenizer->special().eos, 2.0F);
  const auto by_one_thread = one_thread.generate(prompts, options);
  std::map<FinishReason, int> reasons;
  for (size_t i = 0; i < prompts.size(); ++i) {
    const auto alone = m.generate({prompts[i]}, options).front();
    ASSERT_EQ(alone.size(), 2U);
    for (size_t sample = 0; sample < 2; ++sample) {
      expect_same(together[i][sample], alone[sample]);
      expect_same(by_one_thread[i][sample], alone[sample]);
      ++reasons[alone[sample].reason];
    }
  }
  EXPECT_GT(reasons[FinishReason::end], 10);
  EXPECT_GT(reasons[FinishReason::length], 10);
}

TEST(TextGeneration, AModelOfAStreamNeverEndsAText) {
  RandomLanguageModel m;
  m.bias(m.tokenizer->special().eos, 1e4F);
  for (const int64_t beam : {1, 2}) {
    const GenerationOptions options{.beam = beam, .max_tokens = 12};
    m.documents.reset();
    EXPECT_EQ(m.generate({"two dogs"}, options).front().front().reason, FinishReason::end);
    m.documents = Documents::none;
    const Completion found = m.generate({"two dogs"}, options).front().front();
    EXPECT_EQ(found.reason, FinishReason::length);
    EXPECT_EQ(found.tokens, 12);
    m.documents = Documents::lines;
    EXPECT_EQ(m.generate({"two dogs"}, options).front().front().reason, FinishReason::end);
  }
}

TEST(TextGeneration, SeedsAndSamplesDiffer) {
  RandomLanguageModel m;
  GenerationOptions options{.samples = 4, .max_tokens = 30};
  const auto first = m.generate({"two dogs"}, options).front();
  options.sampling.seed = 1;
  const auto second = m.generate({"two dogs"}, options).front();
  std::set<std::string> texts;
  for (size_t sample = 0; sample < 4; ++sample) {
    texts.insert(first[sample].text);
    texts.insert(second[sample].text);
  }
  EXPECT_EQ(texts.size(), 8U);
  options.samples = 1;
  expect_same(m.generate({"two dogs"}, options).front().front(), second.front());
}

TEST(TextGeneration, TemperatureZeroTakesTheLikeliestAndItsLogProbability) {
  RandomLanguageModel m;
  GenerationOptions options{.max_tokens = 10};
  options.sampling.temperature = 0.0;
  const Completion found = m.generate({"two"}, options).front().front();
  // Token by token with full passes.
  std::vector<int32_t> tokens;
  for (const TokenId token : encode_text(*m.tokenizer, "two")) {
    tokens.push_back(token.value);
  }
  const SpecialTokens& special = m.tokenizer->special();
  double log_probability = 0.0;
  std::vector<TokenId> written;
  for (int step = 0; step < 10; ++step) {
    Pass pass = Pass::infer(*m.backend, DType::f32);
    const Sequences sequences({tokens});
    const CausalLM& model = m.model->causal_lm();
    const LogProbs log_probs = log_softmax(pass, model.logits(pass, model.hidden(pass, sequences)));
    const float* const row = host<float>(log_probs.var().value()).row(sequences.rows() - 1);
    int32_t best = special.eos.value;
    for (int32_t token = 0; token < m.tokenizer->vocabulary_size(); ++token) {
      if (token > special.sep.value && row[token] > row[best]) {
        best = token;
      }
    }
    log_probability += static_cast<double>(row[best]);
    tokens.push_back(best);
    written.push_back(TokenId(best));
    if (best == special.eos.value) {
      break;
    }
  }
  EXPECT_EQ(found.text, decode_text(*m.tokenizer, written));
  EXPECT_EQ(found.tokens, static_cast<int64_t>(written.size()));
  EXPECT_DOUBLE_EQ(found.log_probability, log_probability);
}

TEST(TextGeneration, ATextMayOutgrowTheModelsMaximumLength) {
  RandomLanguageModel m;
  m.bias(m.tokenizer->special().eos, -1e4F);
  const GenerationOptions options{.max_tokens = 100};
  const auto alone = m.generate({"two dogs"}, options).front().front();
  EXPECT_EQ(alone.tokens, 100);
  EXPECT_EQ(alone.reason, FinishReason::length);
  expect_same(m.generate({"a", "two dogs", "ein"}, options)[1].front(), alone);
  // After the first 40 tokens, prompt included, the model has seen only the last 20.
  const auto greedy = [&](const std::string& prompt, int64_t tokens) {
    return m.generate({prompt}, {.sampling = {.temperature = 0.0}, .max_tokens = tokens}).front().front().text;
  };
  const std::string first = greedy(std::string(40, 'a'), 1);
  EXPECT_EQ(greedy(std::string(40, 'a'), 2), first + greedy(std::string(19, 'a') + first, 1));
}

// What a listener receives for each text.
class Heard final : public GenerationListener {
 public:
  void on_piece(const Text& text, std::string_view piece) override {
    EXPECT_FALSE(completed_.contains({text.prompt, text.sample}));
    texts_[{text.prompt, text.sample}] += piece;
  }
  void on_completion(const Text& text, const Completion& completion) override {
    EXPECT_TRUE(completed_.emplace(std::pair(text.prompt, text.sample), completion).second);
  }

  std::map<std::pair<size_t, int64_t>, std::string> texts_;
  std::map<std::pair<size_t, int64_t>, Completion> completed_;
};

TEST(TextGeneration, AListenerReceivesWhatIsReturned) {
  RandomLanguageModel m;
  for (const int64_t beam : {1, 3}) {
    Heard heard;
    const GenerationOptions options{.beam = beam, .samples = 2, .max_tokens = 9, .stop = {"e"}};
    const auto found = m.generate({"two dogs", "ein", "a man"}, options, &heard);
    for (size_t i = 0; i < 3; ++i) {
      for (int64_t sample = 0; sample < 2; ++sample) {
        const Completion& completion = found[i][static_cast<size_t>(sample)];
        EXPECT_EQ((heard.texts_[{i, sample}]), completion.text);
        expect_same(heard.completed_.at({i, sample}), completion);
      }
    }
  }
}

TEST(TextGeneration, AStopTextEndsATextAndIsNotInIt) {
  RandomLanguageModel m;
  m.bias(m.tokenizer->special().eos, -1e4F);
  const Completion whole = m.generate({"two dogs"}, {.max_tokens = 30}).front().front();
  const std::string stop = whole.text.substr(7, 3);
  const Completion stopped = m.generate({"two dogs"}, {.max_tokens = 30, .stop = {stop}}).front().front();
  EXPECT_EQ(stopped.reason, FinishReason::stop);
  EXPECT_EQ(stopped.text, whole.text.substr(0, whole.text.find(stop)));
  EXPECT_LE(stopped.tokens, 10);
}

TEST(TextGeneration, BeamSearchFindsWhatIsAtLeastAsLikelyAsGreedy) {
  RandomLanguageModel m;
  GenerationOptions greedy{.max_tokens = 8};
  greedy.sampling.temperature = 0.0;
  const GenerationOptions beam{.beam = 40, .samples = 3, .max_tokens = 8};
  const auto best = m.generate({"two dogs", "ein"}, beam);
  ASSERT_EQ(best[1].size(), 3U);
  for (size_t i = 0; i < 2; ++i) {
    const Completion single = m.generate({i == 0 ? "two dogs" : "ein"}, greedy).front().front();
    EXPECT_GE(best[i][0].log_probability / static_cast<double>(best[i][0].tokens),
              single.log_probability / static_cast<double>(single.tokens) - 1e-6);
    expect_same(m.generate({i == 0 ? "two dogs" : "ein"}, beam).front()[2], best[i][2]);
  }
}

TEST(TextGeneration, InvalidOptionsAreRefusedBeforeAnythingIsGenerated) {
  RandomLanguageModel m;
  Heard heard;
  const auto with = [&](const GenerationOptions& options) {
    return message_of<ConfigError>([&] { m.generate({"a"}, options, &heard); });
  };
  EXPECT_THAT(with({.max_tokens = 0}), HasSubstr("max tokens is 0"));
  EXPECT_THAT(with({.beam = 0}), HasSubstr("beam is 0"));
  EXPECT_THAT(with({.samples = 0}), HasSubstr("n is 0"));
  EXPECT_THAT(with({.beam = 2, .samples = 3}), HasSubstr("at most the beam of 2"));
  EXPECT_THAT(with({.sampling = {.top_k = 3}, .beam = 2}), HasSubstr("beam search does not sample"));
  EXPECT_THAT(with({.sampling = {.temperature = -1.0}}), HasSubstr("temperature is -1"));
  EXPECT_THAT(with({.stop = {"dog\u4e2d"}}), HasSubstr("cannot write"));
  EXPECT_THAT(with({.stop = {""}}), HasSubstr("is empty"));
  EXPECT_THAT(message_of<FormatError>([&] {
                m.generate({"a", "b\xff"}, {}, &heard);
              }),
              AllOf(HasSubstr("prompt:2: byte 2"), HasSubstr("UTF-8")));
  EXPECT_THAT(message_of<FormatError>([&] {
                m.generate({"a", std::string(41, 'a')}, {}, &heard);
              }),
              AllOf(HasSubstr("prompt:2: 41 tokens"), HasSubstr("at most 40")));
  EXPECT_TRUE(heard.texts_.empty());
}

TEST(TextGeneration, APromptIsCutFromTheLeftOnRequest) {
  RandomLanguageModel m;
  GenerationOptions options{.max_tokens = 1, .too_long = TooLong::truncate};
  options.sampling.temperature = 0.0;
  const std::string fits = "two dogs play" + std::string(27, 'a');
  expect_same(m.generate({"ein Hund" + fits}, options).front().front(), m.generate({fits}, options).front().front());
}

TEST(TextGeneration, AnEmptyPromptStandsForALineBreak) {
  RandomLanguageModel m;
  const auto found = m.generate({"", "\n"}, {.max_tokens = 20});
  expect_same(found[0][0], found[1][0]);
}

TEST(TextStream, HoldsBackThePossibleStartOfAStopText) {
  const auto tokenizer = characters();
  const std::vector<std::string> stops{"dogs", "go"};
  const auto pieces = [&](const std::string& text) {
    TextStream stream(*tokenizer, {}, stops);
    std::vector<std::string> found;
    for (const TokenId token : tokenizer->encode(text)) {
      found.push_back(stream.add(token));
      if (stream.stopped()) {
        return found;
      }
    }
    found.push_back(stream.finish());
    return found;
  };
  EXPECT_THAT(pieces("a dot"), testing::ElementsAre("a", " ", "", "", "dot", ""));
  EXPECT_THAT(pieces("a dogs a"), testing::ElementsAre("a", " ", "", "", "", ""));
  EXPECT_THAT(pieces("do"), testing::ElementsAre("", "", "do"));
  EXPECT_THAT(pieces("ddogo"), testing::ElementsAre("", "d", "", "", "do"));
}

TEST(TextStream, CharactersOfSeveralTokensAreReturnedWhole) {
  const auto tokenizer =
      train_tokenizer({.kind = TokenizerKind::byte, .user_symbols = {}}, [](std::string&) { return false; });
  TextStream stream(*tokenizer, {}, {});
  std::string text;
  for (const TokenId token : tokenizer->encode("läuft €")) {
    const std::string piece = stream.add(token);
    EXPECT_TRUE(piece.empty() || !piece.starts_with("\xef\xbf\xbd")) << piece;
    text += piece;
  }
  EXPECT_EQ(text + stream.finish(), "läuft €");
}

// A run of byte tokens that is not UTF-8 becomes a U+FFFD for each, even if it began with a letter.
TEST(TextStream, BytesThatTurnOutNotToBeUtf8LeaveWholeCharacters) {
  const auto tokenizer = parse_huggingface_tokenizer(
      R"({"model": {"type": "BPE", "byte_fallback": true, "vocab": {"<0x3E>": 0, "<0xB5>": 1, "a": 2}, "merges": []},
          "decoder": {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"}]}})",
      "tokenizer.json");
  TextStream stream(*tokenizer, {}, {});
  std::string text;
  for (const int32_t token : {2, 0, 1, 2, 1}) {
    text += stream.add(TokenId(token));
  }
  text += stream.finish();
  EXPECT_EQ(text,
            "a>\xef\xbf\xbd"
            "a\xef\xbf\xbd");
}

TEST(PerplexityWindows, EachTokenIsPredictedOnceFromTheTokensBeforeIt) {
  RandomLanguageModel m;
  std::vector<int32_t> tokens;
  for (int32_t i = 0; i < 100; ++i) {
    tokens.push_back(5 + i * 7 % 20);
  }
  const auto of = [&](const std::vector<int32_t>& text, const Windows& windows) {
    return surprisals(m.scheduler->inference(), m.scheduler->lanes(), text, windows);
  };
  const std::vector<double> found = of(tokens, {.context = 16, .stride = 6});
  ASSERT_EQ(found.size(), 99U);
  for (size_t token = 1; token < 100; ++token) {
    // The window that first reaches this token's row.
    const size_t row = token - 1;
    const size_t begin = row < 16 ? 0 : (row - 16) / 6 * 6 + 6;
    const std::vector<int32_t> seen(tokens.begin() + static_cast<int64_t>(begin),
                                    tokens.begin() + static_cast<int64_t>(token) + 1);
    EXPECT_EQ(found[token - 1], of(seen, {.context = 40, .stride = 40}).back()) << token;
  }
}

// The model writes its own most likely text; the perplexity of that text is what it had then, token by token.
TEST(PerplexityWindows, KeysAndValuesAreRoundedAsTheyAreWhenTheTextIsWritten) {
  const std::vector<int32_t> prompt{5, 12, 9};
  std::map<DType, std::vector<double>> by_cache;
  for (const DType type : {DType::f32, DType::bf16, DType::i8}) {
    RandomLanguageModel m;
    m.cache_in(type);
    const std::unique_ptr<Stepper> stepper = make_stepper(m.scheduler->inference());
    const SequenceId sequence = stepper->begin(std::vector<std::vector<int32_t>>(1)).front();
    std::vector<int32_t> text = prompt;
    std::vector<double> written;
    for (std::span<const int32_t> fresh = text; text.size() < 40; fresh = std::span(text).last(1)) {
      const std::vector<NewTokens> step{{sequence, fresh, RowsWanted::last}};
      const std::span row(stepper->next(step).log_probs.row(0), static_cast<size_t>(stepper->vocabulary()));
      const auto best = std::ranges::max_element(row);
      written.push_back(-*best);
      text.push_back(static_cast<int32_t>(best - row.begin()));
    }
    std::vector<double> found =
        surprisals(m.scheduler->inference(), m.scheduler->lanes(), text, {.context = 40, .stride = 40});
    found.erase(found.begin(), found.begin() + 2);
    ASSERT_EQ(found.size(), written.size());
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_NEAR(found[i], written[i], type == DType::f32 ? 1e-5 : 0.0) << name_of(type) << i;
    }
    by_cache[type] = surprisals(m.scheduler->inference(), m.scheduler->lanes(),
                                std::vector<int32_t>{5, 12, 9, 7, 6, 21, 8}, {.context = 40, .stride = 40});
  }
  EXPECT_NE(by_cache[DType::bf16], by_cache[DType::f32]);
  EXPECT_NE(by_cache[DType::i8], by_cache[DType::f32]);
  for (size_t i = 0; i < by_cache[DType::f32].size(); ++i) {
    EXPECT_NEAR(by_cache[DType::bf16][i], by_cache[DType::f32][i], 0.02);
    EXPECT_NEAR(by_cache[DType::i8][i], by_cache[DType::f32][i], 0.1);
  }
}

}  // namespace
}  // namespace heed::test
