// What masked language modelling makes of a text: some tokens are hidden, and are to be predicted.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "data/batches/text_batches.h"

namespace heed {

enum class MaskUnit : uint8_t { tokens, words };  // words: the tokens of a word are chosen together or not at all

struct MaskingRules {
  double chosen = 0.15;               // share of the tokens that are to be predicted
  double masked = 0.8, random = 0.1;  // of those: replaced by the mask token, by a random one; the rest is kept
  MaskUnit unit = MaskUnit::tokens;

  // Throws ConfigError, with a message that a user can act on.
  void validate() const;
};

class Masking {
 public:
  // ConfigError for words, where the tokenizer's tokens are characters or bytes, which belong to no word.
  Masking(const Tokenizer& tokenizer, TokenId mask, const MaskingRules& rules);

  // Each row draws by its number in the whole update, so that cutting an update into batches changes no draw. pad, bos,
  // eos, sep and the mask token itself are never chosen. The chosen tokens are expected, and nothing elsewhere.
  TokenBatch apply(Sequences text, RandomKey key) const;
  // For an update in which nothing was chosen: masks its first token that may be chosen. False if there is none.
  bool mask_first_maskable(TokenBatch& text) const;

 private:
  bool begins_word(std::span<const int32_t> ids, int64_t row) const;
  int32_t replacement(int32_t token, RandomKey key, uint64_t row) const;

  MaskingRules rules_;
  int32_t mask_;
  std::vector<bool> maskable_, begins_word_;  // by token
  std::vector<int32_t> replacements_;         // the tokens that random ones are drawn from
};

// A text as rows, one for each token, marks included.
class MarkedText {
 public:
  // The corpus must outlive it.
  MarkedText(const TextCorpus& corpus, DocumentBorders borders) : corpus_(corpus), borders_(borders) {}
  MarkedText(TextCorpus&& corpus, DocumentBorders borders) = delete;

  int64_t size() const { return corpus_.tokens(); }
  // One segment for each document in a range, or, where borders are crossed, for each range.
  Sequences read(std::span<const RowRange> ranges, uint64_t first_row = 0) const;
  // Where documents are pairs: 0 for the tokens of the first text and the separator, 1 for those of the second.
  std::vector<int32_t> types(std::span<const RowRange> ranges, TokenId separator) const;

 private:
  const TextCorpus& corpus_;
  DocumentBorders borders_;
};

}  // namespace heed
