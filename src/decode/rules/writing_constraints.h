// What a text may be, as an automaton that rules hold each token to.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "decode/rules/token_automaton.h"

namespace heed {

struct WritingConstraints {
  std::span<const std::string> suppress;  // texts that are never written
  std::string_view regex = {};            // empty: none
  std::span<const std::string> choices = {};

  bool any() const { return !suppress.empty() || !regex.empty() || !choices.empty(); }
};

// The automaton of at least one constraint. ConfigError where the tokenizer can write no text that keeps to all of
// them.
std::shared_ptr<const TokenAutomaton> make_automaton(const WritingConstraints& constraints,
                                                     std::shared_ptr<const TokenTries> tokens, TextEnd end);

}  // namespace heed
