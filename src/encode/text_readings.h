// What a model computes from texts, which are read in batches of similar lengths: scores of its head, or embeddings. A
// text's result does not depend on the others.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "encode/encoder_texts.h"
#include "heed/types/labels.h"
#include "kernels/lanes.h"
#include "models/any_model.h"

namespace heed {

struct TextReader {
  const AnyModel& model;
  DType storage;
  Lanes& lanes;
};

// The scores that an encoder's head gives each text: one for each label, or for each label of each word, word by word.
std::vector<std::vector<float>> head_scores(const TextReader& reader, std::span<const EncodedText> texts);

// The embedding of each text by a model of any kind: its last layer's rows (of an encoder-decoder, its encoder's),
// pooled this way or the model's own, and its text layer where it has one.
std::vector<std::vector<float>> embeddings(const TextReader& reader, std::span<const EncodedText> texts,
                                           std::optional<Pooling> pooling);

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
std::vector<std::vector<std::vector<TokenGuess>>> mask_guesses(const TextReader& reader,
                                                               std::span<const EncodedText> texts,
                                                               const GuessOptions& options);

}  // namespace heed
