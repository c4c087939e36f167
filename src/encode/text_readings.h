// What a model computes from texts, which are read in batches of similar lengths: scores of its head, or embeddings. A
// text's result does not depend on the others.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "encode/text_reader.h"

namespace heed {

// The scores that an encoder's head gives each text: one for each label, or for each label of each word, word by word.
std::vector<std::vector<float>> head_scores(TextReader& reader, std::span<const EncodedText> texts,
                                            const ReadingOptions& options = {});

// The embedding of each text by a model of any kind: its last layer's rows (of an encoder-decoder, its encoder's),
// pooled this way or the model's own, and its text layer where it has one.
std::vector<std::vector<float>> embeddings(TextReader& reader, std::span<const EncodedText> texts,
                                           std::optional<Pooling> pooling, const ReadingOptions& options = {});
// The same, which `take` gets on any thread; of different texts at the same time.
using TakeEmbedding = std::function<void(size_t text, std::span<const float> values)>;
void read_embeddings(TextReader& reader, std::span<const EncodedText> texts, std::optional<Pooling> pooling,
                     const TakeEmbedding& take, const ReadingOptions& options = {});

struct TokenGuess {
  TokenId token{-1};
  double probability = 0.0;  // among all tokens
};

struct GuessOptions {
  int64_t count;                         // at most
  std::function<bool(TokenId)> allowed;  // others are left out
};

// The likeliest tokens for each mask of each text, from a masked language model, the likeliest first; of two with the
// same probability the one with the lower number.
std::vector<std::vector<std::vector<TokenGuess>>> mask_guesses(TextReader& reader, std::span<const EncodedText> texts,
                                                               const GuessOptions& guesses,
                                                               const ReadingOptions& options = {});

}  // namespace heed
