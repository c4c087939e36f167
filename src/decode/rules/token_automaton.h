// What an automaton over bytes means for tokens: which of them may come next, so that tokens of the vocabulary can
// still complete the text.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/rounding.h"
#include "decode/rules/token_tries.h"
#include "text/patterns/byte_automaton.h"

namespace heed {

// One bit for each token of a vocabulary.
class TokenSet {
 public:
  explicit TokenSet(int64_t vocabulary) : words_(ceil_div(static_cast<size_t>(vocabulary), 64)) {}
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
// allow there, and which is then not part of the text; or not at all.
enum class TextEnd : uint8_t { eos, leaving, none };

// Safe to use from several threads at once.
class TokenAutomaton {
 public:
  using State = int32_t;
  static constexpr State kDead = -1;

  // Only tokens of the tries are written.
  TokenAutomaton(ByteAutomaton bytes, std::shared_ptr<const TokenTries> tokens, TextEnd end);

  // After a prompt, before the first token of the text.
  State start(std::span<const int32_t> prompt) const;
  State next(State state, int32_t token) const;
  // After the text that continues a prompt.
  State after_text(std::span<const int32_t> prompt, std::span<const int32_t> text) const;
  bool accepts(State state) const { return bytes_.accepts(state / 2); }
  TextEnd end() const { return end_; }
  int64_t states() const { return static_cast<int64_t>(distances_.size()); }
  // Whether tokens can complete a text from here.
  bool can_finish(State state) const { return distances_[static_cast<size_t>(state)] != kUnreachable; }
  // Whether at most this many tokens can. True where it would take too long to find out.
  bool can_finish_in(State state, int64_t tokens) const;
  // The tokens that may come next, eos among them where the text may end with it.
  std::shared_ptr<const TokenSet> allowed(State state) const;
  // Those of them with which a text of at most `left` further tokens can still become complete; all of them where
  // none can.
  std::shared_ptr<const TokenSet> allowed(State state, int64_t left) const;

 private:
  using Trie = TokenTries::Trie;
  // For each state, the fewest tokens that complete a text from there.
  using Distances = std::vector<int32_t>;
  static constexpr int32_t kUnreachable = std::numeric_limits<int32_t>::max();

  struct Allowed {
    std::shared_ptr<const TokenSet> tokens;
    int32_t most_left = 0;  // tokens to complete the text, by distances_, after the worst of these
  };

  template <class Visit>
  int64_t walk(const Trie& trie, State state, const Visit& visit) const;
  State state_after(ByteAutomaton::State bytes, int32_t token) const;
  bool is_used(State state) const { return tokens_->drops_first_space() || state % 2 == 0; }
  Distances accepting() const;
  void find_distances();
  bool extend(Distances& distances, const Trie& trie) const;
  const Distances* least_distances() const;
  void find_endless();
  Allowed find_allowed(State state, const Distances& distances, int64_t most_left) const;
  Allowed kept(State state) const;

  // A state is 2 * that of the bytes, plus 1 at the start of a line, where some tokenizers drop a space.
  ByteAutomaton bytes_;
  std::shared_ptr<const TokenTries> tokens_;
  TextEnd end_;
  // Upper bounds, found fast: with single characters alone, from all states from which these complete a text.
  Distances distances_;
  mutable std::once_flag least_once_;
  mutable Distances least_;
  mutable std::mutex mutex_;
  // For the states that were needed, as many as memory allows.
  mutable std::unordered_map<State, Allowed> allowed_;
};

}  // namespace heed
