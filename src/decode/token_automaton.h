// What an automaton over bytes means for tokens: which of them may come next, so that the text can still be completed
// with the tokens that there are.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "decode/token_tries.h"
#include "text/byte_automaton.h"

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
  size_t bytes() const { return words_.size() * sizeof(uint64_t); }

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

  // Only tokens of the tries are written.
  TokenAutomaton(ByteAutomaton bytes, std::shared_ptr<const TokenTries> tokens, TextEnd end);

  // Before the first token behind a prompt.
  State start(std::span<const int32_t> prompt) const;
  State next(State state, int32_t token) const;
  // Behind the text that continues a prompt.
  State behind_text(std::span<const int32_t> prompt, std::span<const int32_t> text) const;
  bool accepts(State state) const { return bytes_.accepts(state / 2); }
  TextEnd end() const { return end_; }
  int64_t states() const { return static_cast<int64_t>(live_.size()); }
  // Whether tokens can complete a text from here.
  bool can_finish(State state) const { return live_[static_cast<size_t>(state)]; }
  // Those that may come next, eos among them where the text may end with it.
  std::shared_ptr<const TokenSet> allowed(State state) const;

 private:
  using Trie = TokenTries::Trie;

  template <class Visit>
  int64_t walk(const Trie& trie, State state, const Visit& visit) const;
  State behind(ByteAutomaton::State bytes, int32_t token) const;
  bool is_used(State state) const { return tokens_->drops_first_space() || state % 2 == 0; }
  void find_live();
  void spread_life(std::vector<State> from, const Trie& trie);
  void find_endless();

  // A state is that of the bytes, twice, and 1 more at the beginning of a line, where some tokenizers drop a space.
  ByteAutomaton bytes_;
  std::shared_ptr<const TokenTries> tokens_;
  TextEnd end_;
  std::vector<bool> live_;
  mutable std::mutex mutex_;
  // Of the states that were needed, as many as memory allows.
  mutable std::unordered_map<State, std::shared_ptr<const TokenSet>> allowed_;
};

}  // namespace heed
