// A regular expression, and after a NUL a text for it.
#include "fuzz/fuzz.h"
#include "text/patterns/byte_automaton.h"

using namespace heed;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const std::string_view input = fuzz::text_of(bytes, size);
  const size_t end = std::min(input.find('\0'), input.size());
  const std::string_view expression = input.substr(0, end), text = input.substr(std::min(end + 1, input.size()));
  fuzz::allow_refusal([&] {
    const ByteAutomaton automaton = automaton_of_regex(expression);
    ensure(!automaton.matches_nothing() || !automaton.matches(text), "fuzz", "matches nothing, and a text");
    const ByteAutomaton optional = automaton_of_regex("(?:" + std::string(expression) + ")?");
    ensure(optional.matches(text) == (text.empty() || automaton.matches(text)), "fuzz", "is another in a group");
  });
  return 0;
}
