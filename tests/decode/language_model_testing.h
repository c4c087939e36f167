// A language model that writes nonsense, to test generation.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "decode/texts/text_generation.h"
#include "decode/translator_testing.h"

namespace heed::test {

// Characters and a model with random weights, which takes 40 tokens.
struct RandomLanguageModel : RandomWeights {
  explicit RandomLanguageModel(int threads = 2, DType its_storage = DType::f32, uint64_t seed = 5, int64_t window = 0)
      : RandomWeights(threads), storage(its_storage) {
    draw({.architecture = Architecture::causal_lm,
          .model = 32,
          .inner = 48,
          .heads = 4,
          .encoder_layers = 0,
          .decoder_layers = 2,
          .source_vocabulary = 0,
          .target_vocabulary = tokenizer->vocabulary_size(),
          .max_length = 40,
          .positions = Positions::learned,
          .window = window},
         storage, seed);
    draft_with(nullptr);
  }

  void draft_with(const Drafting* drafting) {
    scheduler.emplace(Inference{*model, *backend, storage, cached}, drafting);
  }
  // As if a step read so many bytes of weights.
  void weigh(int64_t step_bytes) {
    scheduler.emplace(Inference{*model, *backend, storage, cached}, nullptr, SourceVocabulary::other,
                      Scheduler::Memory{.step_bytes = step_bytes});
  }
  void cache_in(DType type) {
    cached = type;
    draft_with(nullptr);
  }

  std::vector<std::vector<Completion>> generate(const std::vector<std::string>& prompts,
                                                const GenerationOptions& options,
                                                GenerationListener* listener = nullptr) {
    const TextGenerator generator{*scheduler, *tokenizer, documents};
    return generate_texts(
        generator, prompts, options, [](size_t i) { return fmt::format("prompt:{}", i + 1); }, listener);
  }

  std::unique_ptr<Tokenizer> tokenizer = characters();
  DType storage;
  std::optional<DType> cached;
  std::optional<Documents> documents;  // unknown: texts have no mark, but may end
  std::optional<Scheduler> scheduler;
};

}  // namespace heed::test
