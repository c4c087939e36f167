// A translator that writes nonsense, to test the search.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "decode/texts/translation/text_translation.h"
#include "models/random_weights.h"
#include "text/tokenizer_training.h"

namespace heed::test {

inline const std::vector<std::string>& corpus() {
  static const std::vector<std::string> lines{"a man is walking in the park.", "two dogs play", "ein Hund läuft über",
                                              "die Straße und zurück"};
  return lines;
}

inline std::unique_ptr<Tokenizer> characters() {
  size_t next = 0;
  return train_tokenizer({.kind = TokenizerKind::character, .user_symbols = {}},
                         [&](std::string& line) { return next < corpus().size() && (line = corpus()[next++], true); });
}

// Characters and a model with random weights, which knows lines of up to `max_length` tokens.
struct RandomTranslator : RandomWeights {
  explicit RandomTranslator(DType storage = DType::f32, int threads = 2, uint64_t seed = 5, int64_t max_length = 40)
      : RandomWeights(threads), type(storage) {
    const int64_t vocabulary = tokenizer->vocabulary_size();
    config = {.model = 32,
              .inner = 48,
              .heads = 4,
              .encoder_layers = 2,
              .decoder_layers = 2,
              .source_vocabulary = vocabulary,
              .target_vocabulary = vocabulary,
              .max_length = max_length};
    draw(config, storage, seed);
    draft_with(nullptr);
  }

  void draft_with(const Drafting* drafting) {
    scheduler.emplace(Inference{*model, *backend, type}, drafting, SourceVocabulary::same);
    translator.emplace(TextTranslator{*scheduler, {*tokenizer, *tokenizer}});
  }

  std::vector<std::vector<TranslatedLine>> translate(const std::vector<std::string>& lines,
                                                     const TranslationOptions& options = {}) const {
    return translate_lines(*translator, lines, options, [](size_t i) { return fmt::format("text:{}", i + 1); });
  }

  std::unique_ptr<Tokenizer> tokenizer = characters();
  ModelConfig config;
  DType type;
  std::optional<Scheduler> scheduler;
  std::optional<TextTranslator> translator;
};

}  // namespace heed::test
