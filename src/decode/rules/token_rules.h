// Which tokens may come next in a text, whatever the model finds likely: for sampling and for search. The rules know
// only the text, so that nothing depends on drafts or on what is decoded beside it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "decode/rules/token_automaton.h"
#include "heed/types/writing/writing_rules.h"

namespace heed {

// Throws ConfigError, with a message that a user can act on.
void validate(const WritingRules& rules);

// Tokens that must not come next.
class ForbiddenTokens {
 public:
  // Starts again with those that are forbidden everywhere.
  void reset(std::span<const int32_t> always) {
    tokens_.assign(always.begin(), always.end());
    always_ = always.size();
    allowed_ = nullptr;
  }
  // All others are forbidden.
  void allow_only(std::shared_ptr<const TokenSet> tokens) { allowed_ = std::move(tokens); }
  void add(int32_t token) { tokens_.push_back(token); }

  const std::vector<int32_t>& tokens() const { return tokens_; }
  bool contains(int32_t token) const;
  const TokenSet* allowed() const { return allowed_.get(); }  // null: all but tokens()

  // To be called where no token is left: those that were added one by one are allowed again. False when there are none.
  bool give_way();

 private:
  std::vector<int32_t> tokens_;
  size_t always_ = 0;
  std::shared_ptr<const TokenSet> allowed_;
};

// How far the rules' automaton has read a text: kept beside the text, so that each token is read once.
struct AutomatonWalk {
  int64_t written = -1;  // of the tokens that the model wrote; -1: not begun
  TokenAutomaton::State state = TokenAutomaton::kDead;
};

// The text that rules are asked about.
struct RuledText {
  std::span<const int32_t> tokens;  // the prompt and what the model wrote
  int64_t written = 0;              // of them, by the model
  int64_t max_length = 0;           // of what it writes, in tokens; 0: not known
};

struct TokenRules {
  std::vector<int32_t> suppressed = {};  // tokens that never come
  // Runs of several tokens that never come: after the others, the last one is forbidden. A prompt may end in a part.
  std::vector<std::vector<int32_t>> bad_words = {};
  int32_t eos = 3;
  WritingRules writing = {};
  std::shared_ptr<const TokenAutomaton> automaton = {};  // of the texts that may be written; none: all

  // Whether what may come next depends on the text.
  bool look_at_text() const {
    return writing.min_length > 1 || writing.no_repeat_ngram > 0 || automaton != nullptr || !bad_words.empty();
  }

  // Finds the tokens that must not come next. The walk is new, or has read a prefix of this text; it goes on to the
  // end.
  void forbid(const RuledText& text, AutomatonWalk& walk, ForbiddenTokens& forbidden) const;
};

}  // namespace heed
