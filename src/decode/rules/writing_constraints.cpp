#include "decode/rules/writing_constraints.h"

#include <optional>

#include "base/errors.h"
#include "base/text/excerpt.h"
#include "text/unicode/unicode.h"

namespace heed {
namespace {

void require_texts(std::string_view what, std::span<const std::string> texts) {
  for (const std::string& text : texts) {
    require<ConfigError>(!text.empty(), what, "a text is empty");
    require<ConfigError>(!find_invalid_utf8(text), what, "{} is not UTF-8", shown(text));
  }
}

ByteAutomaton automaton_of(const WritingConstraints& constraints) {
  std::optional<ByteAutomaton> all;
  const auto add = [&](ByteAutomaton more) { all = all ? intersection(*all, more) : std::move(more); };
  if (!constraints.regex.empty()) {
    add(automaton_of_regex(constraints.regex));
  }
  if (!constraints.choices.empty()) {
    add(automaton_of_texts(constraints.choices));
  }
  if (!constraints.suppress.empty()) {
    add(automaton_without(constraints.suppress));
  }
  ensure(all.has_value(), "constraints", "there are none");
  return *std::move(all);
}

}  // namespace

std::shared_ptr<const TokenAutomaton> make_automaton(const WritingConstraints& constraints,
                                                     std::shared_ptr<const TokenTries> tokens, TextEnd end) {
  require_texts("suppressed texts", constraints.suppress);
  require_texts("choices", constraints.choices);
  ByteAutomaton bytes = automaton_of(constraints);
  const std::string_view what = !constraints.regex.empty()     ? "regular expression"
                                : !constraints.choices.empty() ? "choices"
                                                               : "suppressed texts";
  require<ConfigError>(!bytes.matches_nothing(), what, "no text at all is allowed");
  auto automaton = std::make_shared<const TokenAutomaton>(std::move(bytes), std::move(tokens), end);
  require<ConfigError>(automaton->can_finish(0) || automaton->can_finish(1), what,
                       "the model's tokenizer cannot write any text that is allowed");
  return automaton;
}

}  // namespace heed
