#include "decode/scheduling/request_memory.h"

#include <gtest/gtest.h>

#include "decode/search/search.h"
#include "decode/texts/generation.h"
#include "decode/translator_testing.h"

namespace heed::test {
namespace {

class MemoryOfRequests : public testing::Test {
 protected:
  Inference inference() const { return {*t_.model, *t_.backend, t_.type}; }
  RequestMemory memory() const { return {inference(), 0}; }
  RequestMemory::Need need(size_t source_tokens, int64_t max_length, const TranslationOptions& options = {}) const {
    const std::vector<int32_t> source(source_tokens, 5);
    const SearchRequest request({source, bos_, max_length}, options, rules_, greedy_);
    return memory().need_of(request);
  }
  int64_t pages(size_t source_tokens, int64_t max_length, const TranslationOptions& options = {}) const {
    constexpr int64_t kPageBytes = 4 * 2 * 2 * 32 * 4;  // 2 layers, keys and values of 32 f32
    const int64_t bytes = need(source_tokens, max_length, options).cached;
    EXPECT_EQ(bytes % kPageBytes, 0);
    return bytes / kPageBytes;
  }

  const RandomTranslator t_;
  const std::vector<int32_t> bos_{2};
  const SearchRules rules_ = {};
  const Sampler greedy_{{.temperature = 0.0}, rules_.tokens};
};

// Pages have 4 tokens. The text has bos and, with its end, what the length allows or a quarter more than the source.
TEST_F(MemoryOfRequests, ASearchTakesPagesOfItsSourceAndOfItsText) {
  EXPECT_EQ(pages(10, 11), 3 + 12 / 4);
  EXPECT_EQ(pages(10, 12), 3 + 16 / 4);
  EXPECT_EQ(pages(17, 11), 5 + 12 / 4);
  EXPECT_EQ(pages(17, 40), 5 + 24 / 4) << "1 + 17 + 4 tokens are expected";
}

TEST_F(MemoryOfRequests, HypothesesOfABeamShareAllButTheirLatestTokens) {
  EXPECT_EQ(pages(10, 11, {.beam = 4}), 3 + (12 + 3 * 7 + 3) / 4);
  EXPECT_EQ(pages(10, 4, {.beam = 4}), 3 + 4 * 5 / 4) << "shorter than what each has of its own";
  EXPECT_EQ(pages(10, 11, {.beam = 4, .groups = 2}), 3 + (2 * 12 + 2 * 7 + 2) / 4);
  EXPECT_EQ(pages(10, 11, {.beam = 4, .alternatives = 2}), 3 + (2 * 12 + 6 * 7 + 2) / 4);
}

// A row of logits and one of log-probabilities have an f32 for each token of the vocabulary.
TEST_F(MemoryOfRequests, EachHypothesisHasRowsOfScores) {
  const int64_t row_bytes = 8 * t_.tokenizer->vocabulary_size();
  EXPECT_EQ(need(10, 12).scores, row_bytes);
  EXPECT_EQ(need(10, 12, {.beam = 4}).scores, 4 * row_bytes);
  EXPECT_EQ(need(10, 12, {.beam = 4, .alternatives = 2}).scores, 8 * row_bytes);
}

TEST_F(MemoryOfRequests, NothingIsForeseenForSampledTexts) {
  struct Writer final : TextWriter {
    Verdict take_token(const Written&) override { return Verdict::ended; }
    void interrupt(Interrupted) override {}
  } writer;
  const GenerationRequest request({.prompt = bos_, .samples = 9, .sampler = greedy_}, writer);
  EXPECT_EQ(memory().need_of(request).cached, 0);
  EXPECT_EQ(memory().need_of(request).scores, 0);
}

// What fits, by halving.
int64_t most_that_fits(const RequestMemory& memory, const RequestMemory::Need& unit, RequestMemory::Share share) {
  int64_t fits = 0;
  for (int64_t step = int64_t{1} << 40; step > 0; step /= 2) {
    const int64_t count = fits + step;
    fits = memory.fits({count * unit.cached, count * unit.scores}, share) ? count : fits;
  }
  return fits;
}

TEST_F(MemoryOfRequests, TheBudgetOfALaneGrowsWithTheWeightsAndNotWithTheLanes) {
  const auto backend = make_cpu_backend(8);
  const Inference of_eight{*t_.model, *backend, t_.type};
  constexpr RequestMemory::Need kByte{.cached = 1};
  const auto budget = [&](const RequestMemory& memory) {
    return most_that_fits(memory, kByte, RequestMemory::Share::whole);
  };
  EXPECT_GT(budget(RequestMemory(inference(), 1 << 30)), budget(memory()));
  EXPECT_LT(budget(RequestMemory(of_eight, 1 << 30)), budget(RequestMemory(inference(), 1 << 30)));
  EXPECT_EQ(most_that_fits(memory(), kByte, RequestMemory::Share::three_quarters), budget(memory()) * 3 / 4);
}

// The encoder and a step's scores use the same memory, one after the other.
TEST_F(MemoryOfRequests, ScoresCountWhereTheyTakeMoreThanThePassOfTheEncoder) {
  const RequestMemory memory = this->memory();
  const int64_t cached = most_that_fits(memory, {.cached = 1}, RequestMemory::Share::whole);
  const int64_t scores = most_that_fits(memory, {.scores = 1}, RequestMemory::Share::whole);
  EXPECT_TRUE(memory.fits({.cached = cached, .scores = scores - cached}));
  EXPECT_FALSE(memory.fits({.cached = cached, .scores = scores - cached + 1}));
  EXPECT_FALSE(memory.fits({.cached = cached + 1}));
}

// More than take part at once.
TEST_F(MemoryOfRequests, ManyLinesGiveTheTranslationsOfEachAlone) {
  std::vector<std::string> lines;
  for (size_t i = 0; i < 300; ++i) {
    lines.push_back(corpus()[i % 2].substr(0, 1 + i % 13));
  }
  for (const int64_t beam : {int64_t{1}, int64_t{64}}) {
    const auto all = t_.translate(lines, {.beam = beam, .max_length = 6});
    for (size_t i = 0; i < lines.size(); i += 37) {
      const auto alone = t_.translate({lines[i]}, {.beam = beam, .max_length = 6});
      EXPECT_EQ(all[i].front().ids, alone.front().front().ids);
      EXPECT_EQ(all[i].front().translation.score, alone.front().front().translation.score);
    }
  }
}

}  // namespace
}  // namespace heed::test
