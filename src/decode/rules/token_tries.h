// The tokens of a vocabulary by their bytes, for automata that say which of them may come next.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "text/tokenizer.h"

namespace heed {

class TokenTries {
 public:
  // A node for each prefix of the tokens' bytes. The first one is the root.
  struct Node {
    std::vector<std::pair<uint8_t, int32_t>> children;  // by byte
    std::vector<int32_t> tokens;                        // that end here
  };
  using Trie = std::vector<Node>;

  // Leaves out the tokens in `suppressed` and the end. ConfigError for a tokenizer whose tokens have no bytes of their
  // own.
  TokenTries(const Tokenizer& tokenizer, std::span<const int32_t> suppressed);

  const Trie& all() const { return all_; }
  const Trie& characters() const { return characters_; }  // the tokens that are a character or a byte
  bool contains(int32_t token) const { return token >= 0 && token < vocabulary() && !text(token).empty(); }
  // Empty for a token of the vocabulary that is not in the tries.
  const std::string& text(int32_t token) const { return texts_[static_cast<size_t>(token)]; }
  int64_t vocabulary() const { return static_cast<int64_t>(texts_.size()); }
  int32_t eos() const { return eos_; }
  int32_t line_break() const { return line_break_; }
  bool drops_first_space() const { return drops_first_space_; }

 private:
  int32_t eos_, line_break_;
  bool drops_first_space_;
  std::vector<std::string> texts_;
  Trie all_, characters_;
};

}  // namespace heed
