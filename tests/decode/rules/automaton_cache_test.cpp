// Automata that requests share.
#include "decode/rules/automaton_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.h"
#include "decode/language_model_testing.h"
#include "decode/rules/token_rules.h"

namespace heed::test {
namespace {

using testing::IsNull;
using Texts = std::vector<std::string>;

TEST(AutomatonCache, SameConstraintsShareAnAutomaton) {
  const RandomLanguageModel model(1);
  AutomatonCache cache(*model.tokenizer);
  const Texts suppress{"dog"}, others{"cat"}, none;
  EXPECT_THAT(cache.get({none}, {}, TextEnd::eos), IsNull());
  const auto first = cache.get({suppress, "[a-z]+"}, {}, TextEnd::eos);
  EXPECT_EQ(cache.get({Texts{"dog"}, "[a-z]+"}, {}, TextEnd::eos), first);
  const std::vector<int32_t> suppressed{5};
  EXPECT_NE(cache.get({others, "[a-z]+"}, {}, TextEnd::eos), first);
  EXPECT_NE(cache.get({suppress, "[a-z]*"}, {}, TextEnd::eos), first);
  EXPECT_NE(cache.get({suppress, "[a-z]+"}, suppressed, TextEnd::eos), first);
  EXPECT_NE(cache.get({suppress, "[a-z]+"}, {}, TextEnd::leaving), first);
  EXPECT_NE(cache.get({suppress, "[a-z]+", others}, {}, TextEnd::eos), nullptr) << "'cat' matches";
  EXPECT_EQ(cache.get({suppress, "[a-z]+"}, {}, TextEnd::eos), first);
}

TEST(AutomatonCache, DropsTheLeastRecentlyUsedWhenFull) {
  const RandomLanguageModel model(1);
  AutomatonCache cache(*model.tokenizer);
  const std::weak_ptr<const TokenAutomaton> first = cache.get({{}, "a"}, {}, TextEnd::eos);
  const std::weak_ptr<const TokenAutomaton> used = cache.get({{}, "b"}, {}, TextEnd::eos);
  for (int i = 1; i <= 30; ++i) {
    cache.get({{}, fmt::format("a{{{}}}", i + 1)}, {}, TextEnd::eos);
    cache.get({{}, "b"}, {}, TextEnd::eos);
  }
  EXPECT_TRUE(first.expired());
  EXPECT_FALSE(used.expired());
}

TEST(AutomatonCache, RefusesTheSameConstraintsAgain) {
  const RandomLanguageModel model(1);
  AutomatonCache cache(*model.tokenizer);
  for (int i = 0; i < 2; ++i) {
    EXPECT_THROW(cache.get({{}, "a("}, {}, TextEnd::eos), ConfigError);
  }
}

TEST(AutomatonCache, DoesNotKeepRefusedConstraints) {
  const RandomLanguageModel model(1);
  AutomatonCache cache(*model.tokenizer);
  const std::weak_ptr<const TokenAutomaton> first = cache.get({{}, "a"}, {}, TextEnd::eos);
  for (int i = 1; i <= 30; ++i) {
    EXPECT_THROW(cache.get({{}, fmt::format("(a{{{}}}", i)}, {}, TextEnd::eos), ConfigError);
  }
  cache.get({{}, "b"}, {}, TextEnd::eos);
  EXPECT_FALSE(first.expired());
}

TEST(AutomatonCache, CallsOfAModelShareAutomata) {
  RandomLanguageModel model(1);
  AutomatonCache cache(*model.tokenizer);
  const Texts suppress{"e"};
  TextGenerator generator{*model.scheduler, *model.tokenizer, Documents::lines, {}, &cache};
  const Texts prompts{"a man"};
  const GenerationOptions options{.max_tokens = 3, .rules = {.suppress = suppress}};
  const auto name = [](size_t) { return std::string("prompt"); };
  generate_texts(generator, prompts, options, name);
  std::vector<int32_t> suppressed;
  const SpecialTokens& special = model.tokenizer->special();
  for (const TokenId token : {special.pad, special.unk, special.bos, special.sep}) {
    if (token != kNoToken) {
      suppressed.push_back(token.value);
    }
  }
  const auto shared = cache.get({suppress}, suppressed, TextEnd::eos);
  const auto before = shared.use_count();
  generate_texts(generator, prompts, options, name);
  EXPECT_EQ(before, 2) << "the first call's automaton is in the cache, and nowhere else";
  EXPECT_EQ(cache.get({suppress}, suppressed, TextEnd::eos), shared);
}

// A walk that goes on from token to token --------------------------------------------------------------------------

TEST(AutomatonWalk, ContinuesFromItsLastState) {
  const RandomLanguageModel model(1);
  AutomatonCache cache(*model.tokenizer);
  const TokenRules rules{.automaton = cache.get({{}, "(ab)*c"}, {}, TextEnd::eos)};
  std::vector<int32_t> text;
  for (const char* piece : {"d", "a", "b", "a", "b", "c"}) {
    text.push_back(model.tokenizer->encode(piece).front().value);
  }
  AutomatonWalk walk;
  for (int64_t written = 0; written + 1 <= std::ssize(text); ++written) {
    const std::span seen = std::span(text).first(static_cast<size_t>(written) + 1);
    AutomatonWalk fresh;
    ForbiddenTokens going_on, from_the_beginning;
    rules.forbid({seen, written}, walk, going_on);
    rules.forbid({seen, written}, fresh, from_the_beginning);
    EXPECT_EQ(walk.written, written);
    EXPECT_EQ(walk.state, rules.automaton->after_text(seen.first(1), seen.subspan(1)));
    EXPECT_EQ(going_on.allowed(), from_the_beginning.allowed());
  }
  EXPECT_TRUE(rules.automaton->accepts(walk.state));
  ForbiddenTokens forbidden;
  EXPECT_THROW(rules.forbid({std::span(text).first(2), 1}, walk, forbidden), InternalError);
}

}  // namespace
}  // namespace heed::test
