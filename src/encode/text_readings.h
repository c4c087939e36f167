// What a model computes from texts, which are read in batches of similar lengths: scores of its head, or embeddings. A
// text's result does not depend on the others. `take` is called on any thread, for different texts at the same time.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "encode/text_reader.h"

namespace heed {

using TakeValues = std::function<void(size_t text, std::span<const float> values)>;

// The scores that an encoder's head gives each text: one for each label, or for each label of each word, word by word.
void read_head_scores(TextReader& reader, std::span<const EncodedText> texts, const TakeValues& take,
                      const ReadingOptions& options = {});
std::vector<std::vector<float>> head_scores(TextReader& reader, std::span<const EncodedText> texts,
                                            const ReadingOptions& options = {});

// The embedding of each text by a model of any kind: its last layer's rows (of an encoder-decoder, its encoder's),
// pooled this way or the model's own, and its text layer where it has one.
void read_embeddings(TextReader& reader, std::span<const EncodedText> texts, std::optional<Pooling> pooling,
                     const TakeValues& take, const ReadingOptions& options = {});
std::vector<std::vector<float>> embeddings(TextReader& reader, std::span<const EncodedText> texts,
                                           std::optional<Pooling> pooling, const ReadingOptions& options = {});

struct TokenGuess {
  TokenId token{-1};
  double probability = 0.0;  // among all tokens
};

struct GuessOptions {
  int64_t count;                         // at most
  std::function<bool(TokenId)> allowed;  // others are left out
};

using MaskGuesses = std::vector<std::vector<TokenGuess>>;  // for each mask of a text
using TakeGuesses = std::function<void(size_t text, const MaskGuesses& guesses)>;

// The likeliest tokens for each mask of each text, from a masked language model, the likeliest first; of two with the
// same probability the one with the lower number.
void read_mask_guesses(TextReader& reader, std::span<const EncodedText> texts, const GuessOptions& guesses,
                       const TakeGuesses& take, const ReadingOptions& options = {});

}  // namespace heed
