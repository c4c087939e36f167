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
  int64_t bytes(size_t source_tokens, int64_t max_length, const TranslationOptions& options = {}) const {
    const std::vector<int32_t> source(source_tokens, 5);
    const SearchRequest request({source, bos_, max_length}, options, rules_, greedy_);
    return memory().bytes_of(request);
  }

  const RandomTranslator t_;
  const std::vector<int32_t> bos_{2};
  const SearchRules rules_ = {};
  const Sampler greedy_{{.temperature = 0.0}, rules_.tokens};
};

// A page has 16 tokens: for each of 2 layers, keys and values of 32 f32. A row of logits or of log-probabilities has a
// f32 for each token of the vocabulary.
TEST_F(MemoryOfRequests, ASearchTakesPagesOfItsSourceAndOfEachHypothesisAndTheirRows) {
  constexpr int64_t kPageBytes = 16 * 2 * 2 * 32 * 4;
  const int64_t row_bytes = 8 * t_.tokenizer->vocabulary_size();
  EXPECT_EQ(bytes(10, 12), 2 * kPageBytes + row_bytes);
  EXPECT_EQ(bytes(17, 12), 3 * kPageBytes + row_bytes);
  EXPECT_EQ(bytes(17, 40), 4 * kPageBytes + row_bytes) << "22 tokens are expected";
  EXPECT_EQ(bytes(10, 12, {.beam = 4}), kPageBytes + 4 * (kPageBytes + row_bytes));
  EXPECT_EQ(bytes(10, 12, {.beam = 4, .alternatives = 2}), kPageBytes + 8 * (kPageBytes + row_bytes));
}

TEST_F(MemoryOfRequests, NothingIsForeseenForSampledTexts) {
  struct Writer final : TextWriter {
    Verdict take_token(const Written&) override { return Verdict::ended; }
    void interrupt(Interrupted) override {}
  } writer;
  const GenerationRequest request({.prompt = bos_, .samples = 9, .sampler = greedy_}, writer);
  EXPECT_EQ(memory().bytes_of(request), 0);
}

TEST_F(MemoryOfRequests, TheBudgetOfALaneGrowsWithTheWeightsAndNotWithTheLanes) {
  const auto backend = make_cpu_backend(8);
  const Inference of_eight{*t_.model, *backend, t_.type};
  EXPECT_GT(RequestMemory(inference(), 1 << 30).budget(), memory().budget());
  EXPECT_LT(RequestMemory(of_eight, 1 << 30).budget(), RequestMemory(inference(), 1 << 30).budget());
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
