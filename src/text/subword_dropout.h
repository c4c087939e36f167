// BPE-dropout: the same text split into other subwords, so that a model learns what subwords are made of.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/random.h"
#include "base/strong.h"
#include "text/tokenizer.h"

namespace heed {

// One merge of two neighbours, and all tokens after it.
struct SubwordMerge {
  int32_t left, right, merged;
  float score;
  std::vector<int32_t> tokens;
};

struct SubwordMerges {
  std::vector<int32_t> characters;  // before the first merge
  std::vector<SubwordMerge> merges;
};

// Immutable, and safe to use from several threads at once.
class SubwordDropout {
 public:
  // ConfigError for another kind than bpe.
  explicit SubwordDropout(const Tokenizer& tokenizer);

  // Splits the tokens into characters and merges them again, best merge first; each merge is skipped with the given
  // probability. With a probability of 0 these are the tokens that encode() gives. Tokens that are not subwords
  // (bytes, user symbols, unknown and special tokens) stay unchanged.
  std::vector<int32_t> recut(std::span<const int32_t> tokens, Probability left_out, RandomKey key) const;

  // The merges that make these tokens out of characters, in their order.
  SubwordMerges merges_of(std::span<const int32_t> tokens) const;

 private:
  class Chain;
  struct Merge;

  struct Characters {
    int32_t begin = 0, end = 0;  // in characters_
  };

  static uint64_t pair_of(int32_t left, int32_t right) {
    return static_cast<uint64_t>(left) << 32 | static_cast<uint32_t>(right);
  }
  Chain characters_of(std::span<const int32_t> tokens) const;
  // Merges, best first, until nothing is left to merge: those for which keep(merge) is true.
  template <class Keep>
  void merge(Chain& chain, Keep keep) const;
  void take_apart(int32_t token, std::string_view text, const std::unordered_map<std::string_view, int32_t>& ids);
  void add_merges(int32_t token, std::string_view text, const std::unordered_map<std::string_view, int32_t>& ids);

  std::vector<float> scores_;                     // of each token: the higher, the earlier it is merged
  std::vector<Characters> parts_;                 // of each token
  std::vector<int32_t> characters_;               // as tokens
  std::unordered_map<uint64_t, int32_t> merges_;  // two neighbours and what they become
};

}  // namespace heed
