#include "kernels/cpu/cpu_backend.h"
#include "models/model_testing.h"
#include "optim/optimizer.h"

namespace heed::test {
namespace {

constexpr int32_t kBegin = 0;
constexpr int64_t kLength = 6, kSymbols = 8;

// Fresh random sequences at every step: what is learned is the rule, not the examples.
TokenLists random_words(uint64_t step, size_t count) {
  const RandomKey key = RandomKey{77}.derive(step);
  TokenLists words(count);
  uint64_t draw = 0;
  for (auto& word : words) {
    for (int64_t i = 0; i < kLength; ++i) {
      word.push_back(1 + static_cast<int32_t>(uniform_draw(key, draw++) * static_cast<double>(kSymbols)));
    }
  }
  return words;
}

// Source: a word; target: the word backwards. Without attention to the right position no guess beats log(8) = 2.08
// nats.
ModelBatch reversal(uint64_t step) {
  const TokenLists words = random_words(step, 32);
  TokenLists inputs;
  std::vector<int32_t> expected;
  for (const auto& word : words) {
    std::vector<int32_t> input{kBegin};
    input.insert(input.end(), word.rbegin(), word.rend() - 1);
    inputs.push_back(input);
    expected.insert(expected.end(), word.rbegin(), word.rend());
  }
  return {{SourceSequences(words), TargetSequences(inputs), Targets(expected)}, {}};
}

// A word twice: the first half can't be known, and is ignored; the second can, by attending to it.
ModelBatch repetition(uint64_t step) {
  TokenLists inputs;
  std::vector<int32_t> expected;
  for (const auto& word : random_words(step, 32)) {
    std::vector<int32_t> twice = word;
    twice.insert(twice.end(), word.begin(), word.end());
    for (size_t i = 1; i < twice.size(); ++i) {
      expected.push_back(i < word.size() ? Targets::kIgnored : twice[i]);
    }
    twice.pop_back();
    inputs.push_back(twice);
  }
  return {{}, {Sequences(inputs), Targets(expected)}};
}

ModelConfig learner(Architecture architecture) {
  ModelConfig config = small_config(architecture);
  config.model = 32;
  config.inner = 64;
  config.source_vocabulary = config.target_vocabulary = kSymbols + 1;
  config.embedding_dropout = config.attention_dropout = config.inner_dropout = config.branch_dropout =
      Probability{0.0F};
  return config;
}

// The loss per token, unsmoothed, on sequences never seen, after this many updates.
template <class MakeBatch>
double learned_loss(const ModelConfig& config, DType storage, uint64_t updates, MakeBatch make_batch) {
  const auto backend = make_cpu_backend(1);
  TestModel model(*backend, storage, config);
  Optimizer optimizer(*backend, model.trainables(), {.beta2 = 0.98});
  for (uint64_t step = 0; step < updates; ++step) {
    const ModelBatch batch = make_batch(step);
    // One of the two is empty.
    const int64_t counted = batch.pairs.expected.counted() + batch.tokens.expected.counted();
    Tape tape(1.0 / static_cast<double>(counted));
    Pass pass = Pass::train(*backend, storage, tape, RandomKey{5}.derive(step));
    model.loss(pass, batch);
    tape.backward(*backend);
    // The rate falls to zero: with a constant one, the last loss would depend on the last few batches.
    const double warm_up = std::min(1.0, static_cast<double>(step + 1) / 30.0);
    const double decay = 1.0 - static_cast<double>(step) / static_cast<double>(updates);
    optimizer.update(*backend, 3e-3 * warm_up * decay);
  }
  const ModelBatch unseen = make_batch(1000000);
  Pass pass = Pass::infer(*backend, storage);
  const TokenLosses losses = model.loss(pass, unseen);
  return losses.total_negative_log_likelihood() / static_cast<double>(losses.counted());
}

TEST(Learning, AnEncoderDecoderLearnsToReverse) {
  EXPECT_LT(learned_loss(learner(Architecture::seq2seq), DType::f32, 900, reversal), 0.1);
}

TEST(Learning, ALanguageModelLearnsToRepeat) {
  EXPECT_LT(learned_loss(learner(Architecture::causal_lm), DType::f32, 400, repetition), 0.1);
}

TEST(Learning, WorksInBf16Too) {
  EXPECT_LT(learned_loss(learner(Architecture::causal_lm), DType::bf16, 400, repetition), 0.15);
}

}  // namespace
}  // namespace heed::test
