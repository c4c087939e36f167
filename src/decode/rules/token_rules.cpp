#include "decode/rules/token_rules.h"

#include <algorithm>

#include "base/errors.h"

namespace heed {
namespace {

// Forbids each token that followed the last n - 1 tokens where these occurred before.
void forbid_repetition(std::span<const int32_t> tokens, size_t n, ForbiddenTokens& forbidden) {
  if (tokens.size() < n) {
    return;
  }
  const std::span last = tokens.last(n - 1);
  for (size_t begin = 0; begin + n <= tokens.size(); ++begin) {
    if (std::ranges::equal(tokens.subspan(begin, n - 1), last)) {
      forbidden.add(tokens[begin + n - 1]);
    }
  }
}

void forbid_ends_of_words(std::span<const int32_t> tokens, const std::vector<std::vector<int32_t>>& words,
                          ForbiddenTokens& forbidden) {
  for (const std::vector<int32_t>& word : words) {
    const std::span begin = std::span(word).first(word.size() - 1);
    if (tokens.size() >= begin.size() && std::ranges::equal(tokens.last(begin.size()), begin)) {
      forbidden.add(word.back());
    }
  }
}

void follow(const TokenAutomaton& automaton, std::span<const int32_t> prompt, std::span<const int32_t> text,
            AutomatonWalk& walk) {
  if (walk.written < 0) {
    walk = {0, automaton.start(prompt)};
  }
  ensure(walk.written <= std::ssize(text), "automaton", "a walk of {} tokens in a text of {}", walk.written,
         text.size());
  for (; walk.written < std::ssize(text); ++walk.written) {
    walk.state = automaton.next(walk.state, text[static_cast<size_t>(walk.written)]);
  }
}

// Forbids what the automaton does not allow. Where a text may end by leaving the automaton, all tokens are allowed.
void keep_to(const TokenRules& rules, const RuledText& text, const AutomatonWalk& walk, ForbiddenTokens& forbidden) {
  const TokenAutomaton& automaton = *rules.automaton;
  if (walk.state == TokenAutomaton::kDead) {
    return;  // a draft, or a hypothesis that was forced
  }
  std::shared_ptr<const TokenSet> allowed = text.max_length > 0
                                                ? automaton.allowed(walk.state, text.max_length - text.written)
                                                : automaton.allowed(walk.state);
  const bool may_leave = automaton.end() == TextEnd::leaving && automaton.accepts(walk.state) &&
                         (text.written + 1 >= rules.writing.min_length || allowed->empty());
  if (!may_leave) {
    forbidden.allow_only(std::move(allowed));
  }
}

}  // namespace

void validate(const WritingRules& rules) {
  require<ConfigError>(rules.min_length >= 0, "decoding", "min tokens is {}, expected 0 or more", rules.min_length);
  require<ConfigError>(rules.no_repeat_ngram >= 0, "decoding",
                       "no-repeat-ngram is {}, expected the number of tokens in a row that must not come again, or 0",
                       rules.no_repeat_ngram);
}

bool ForbiddenTokens::contains(int32_t token) const {
  return (allowed_ != nullptr && !allowed_->contains(token)) || std::ranges::find(tokens_, token) != tokens_.end();
}

bool ForbiddenTokens::give_way() {
  const bool any = tokens_.size() > always_;
  tokens_.resize(always_);
  return any;
}

void TokenRules::forbid(const RuledText& text, AutomatonWalk& walk, ForbiddenTokens& forbidden) const {
  forbidden.reset(suppressed);
  if (text.written + 1 < writing.min_length) {
    forbidden.add(eos);
  }
  if (automaton != nullptr) {
    const std::span own = text.tokens.last(static_cast<size_t>(text.written));
    follow(*automaton, text.tokens.first(text.tokens.size() - own.size()), own, walk);
    keep_to(*this, text, walk, forbidden);
  }
  if (writing.no_repeat_ngram > 0) {
    forbid_repetition(text.tokens, static_cast<size_t>(writing.no_repeat_ngram), forbidden);
  }
  forbid_ends_of_words(text.tokens, bad_words, forbidden);
}

}  // namespace heed
