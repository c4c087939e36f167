#include "text/tokenizer_trace.h"

#include "text/tokenizer_testing.h"

namespace heed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Two characters and one merge for each of "ab" and "abab".
std::unique_ptr<Tokenizer> two_merges() {
  TokenizerTraining training = test::training_of(TokenizerKind::bpe);
  training.vocabulary = 5 + 256 + 3 + 2;  // special tokens, bytes, three characters, two merges
  return train_tokenizer(training, test::lines_of(std::vector<std::string>(50, "abab")));
}

TEST(TokenizerTrace, ShowsABpeMergeByMerge) {
  const auto tokenizer = two_merges();
  const TokenizerTrace trace = trace_of(*tokenizer, "abab");
  EXPECT_THAT(trace.start, ElementsAre("\u2581", "a", "b", "a", "b"));
  ASSERT_GE(trace.steps.size(), 3U);
  EXPECT_EQ(trace.steps[0].from, "a + b");
  EXPECT_EQ(trace.steps[0].piece, "ab");
  EXPECT_THAT(trace.steps[0].tokens, ElementsAre("\u2581", "ab", "a", "b")) << "the leftmost comes first";
  EXPECT_EQ(trace.steps[1].from, "a + b");
  EXPECT_THAT(trace.steps[1].tokens, ElementsAre("\u2581", "ab", "ab"));
  EXPECT_GE(trace.steps[1].score, trace.steps[2].score);
  EXPECT_EQ(trace.steps.back().tokens, trace.tokens);
}

TEST(TokenizerTrace, EndsWithTheTokensOfEveryTextAndEachMergeTakesOneTokenAway) {
  const Tokenizer& bpe = test::trained(TokenizerKind::bpe);
  for (const char* const text : {"A man is walking in the park.", "漢字 and 🙂", "", "unseen words"}) {
    const TokenizerTrace trace = trace_of(bpe, text);
    EXPECT_EQ(trace.steps.empty() ? trace.start : trace.steps.back().tokens, trace.tokens) << text;
    EXPECT_EQ(trace.start.size(), trace.steps.size() + trace.tokens.size()) << text;
  }
}

TEST(TokenizerTrace, ShowsTheScoresThatAUnigramModelAddsUp) {
  const Tokenizer& unigram = test::trained(TokenizerKind::unigram);
  const TokenizerTrace trace = trace_of(unigram, "A man is walking in the park.");
  ASSERT_EQ(trace.steps.size(), trace.tokens.size());
  for (size_t i = 0; i < trace.steps.size(); ++i) {
    EXPECT_EQ(trace.steps[i].piece, trace.tokens[i]);
    EXPECT_LT(trace.steps[i].score, 0.0) << trace.tokens[i];
  }
}

TEST(TokenizerTrace, ShowsWhatIsLeftOfAWordBeforeEachMatch) {
  const Tokenizer& wordpiece = test::trained(TokenizerKind::wordpiece);
  const TokenizerTrace trace = trace_of(wordpiece, "park parkwalking 漢");
  std::string word;
  for (const TokenizerTrace::Step& step : trace.steps) {
    const bool continues = step.piece.starts_with("##");
    if (!continues) {
      word = step.from;
    }
    EXPECT_EQ(step.from, word) << "the rest of the word";
    if (step.piece != "<unk>") {
      const std::string text = step.piece.substr(continues ? 2 : 0);
      EXPECT_TRUE(step.from.starts_with(text)) << step.from << " " << step.piece;
      word.erase(0, text.size());
    }
  }
  EXPECT_EQ(trace.steps.front().from, "park");
  EXPECT_EQ(trace.steps.back().from, "漢");
  EXPECT_EQ(trace.steps.back().piece, "<unk>");
}

TEST(TokenizerTrace, RefusesKindsThatTakeNoSteps) {
  for (const TokenizerKind kind : {TokenizerKind::word, TokenizerKind::character, TokenizerKind::byte}) {
    try {
      trace_of(test::trained(kind), "a");
      ADD_FAILURE() << name_of(kind);
    } catch (const ConfigError& error) {
      EXPECT_THAT(error.what(), HasSubstr(name_of(kind)));
    }
  }
}

}  // namespace
}  // namespace heed
