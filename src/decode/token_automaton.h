// What an automaton over bytes means for tokens: which of them may come next, so that the text can still be completed
// with the tokens that there are.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <vector>

#include "text/byte_automaton.h"
#include "text/tokenizer.h"

namespace heed {

// One bit for each token of a vocabulary.
class TokenSet {
 public:
  explicit TokenSet(int64_t vocabulary) : words_((static_cast<size_t>(vocabulary) + 63) / 64) {}
  void add(int32_t token) {
    words_[static_cast<size_t>(token) / 64] |= uint64_t{1} << (static_cast<size_t>(token) % 64);
  }
  bool contains(int32_t token) const {
    const size_t word = static_cast<size_t>(token) / 64;
    return word < words_.size() && (words_[word] >> (static_cast<size_t>(token) % 64) & 1) != 0;
  }
  bool empty() const;

 private:
  std::vector<uint64_t> words_;
};

// How a text may end where the automaton accepts it: with the model's end; with any token that the automaton does not
// allow there, which is not part of the text; or not at all.
enum class TextEnd : uint8_t { eos, leaving, none };

// Safe to use from several threads at once.
class TokenAutomaton {
 public:
  using State = int32_t;
  static constexpr State kDead = -1;

  // Tokens in `suppressed` are never written. ConfigError for a tokenizer whose tokens have no bytes of their own.
  TokenAutomaton(ByteAutomaton bytes, const Tokenizer& tokenizer, std::span<const int32_t> suppressed, TextEnd end);

  // Before the first token behind a prompt.
  State start(std::span<const int32_t> prompt) const;
  State next(State state, int32_t token) const;
  // Behind the text that continues a prompt.
  State behind_text(std::span<const int32_t> prompt, std::span<const int32_t> text) const;
  bool accepts(State state) const { return bytes_.accepts(state / 2); }
  TextEnd end() const { return end_; }
  // Whether tokens can complete a text from here.
  bool can_finish(State state) const { return live_[static_cast<size_t>(state)]; }
  // Those that may come next, eos among them where the text may end with it.
  const TokenSet& allowed(State state) const;

 private:
  // The beginnings of the tokens' bytes.
  struct TrieNode {
    std::vector<std::pair<uint8_t, int32_t>> children;  // by byte
    std::vector<int32_t> tokens;                        // that end here
  };
  using Trie = std::vector<TrieNode>;

  static void add(Trie& trie, const std::string& bytes, int32_t token);
  template <class Visit>
  int64_t walk(const Trie& trie, State state, const Visit& visit) const;
  State behind(ByteAutomaton::State bytes, int32_t token) const;
  bool is_used(State state) const { return drops_first_space_ || state % 2 == 0; }
  void find_live();
  void spread_life(std::vector<State> from, const Trie& trie);
  void find_endless();

  // A state is that of the bytes, twice, and 1 more at the beginning of a line, where some tokenizers drop a space.
  ByteAutomaton bytes_;
  TextEnd end_;
  int32_t eos_, line_break_;
  int64_t vocabulary_;
  bool drops_first_space_;
  std::vector<std::string> texts_;  // of the tokens; empty: never written
  Trie all_, characters_;           // the latter of those that are a character or a byte
  std::vector<bool> live_;
  mutable std::mutex mutex_;
  mutable std::map<State, TokenSet> allowed_;  // of the states that were needed
};

}  // namespace heed
