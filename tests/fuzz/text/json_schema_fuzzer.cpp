// A JSON schema: its expression is one that heed reads, and the shortest text that it matches is JSON.
#include <nlohmann/json.hpp>

#include <deque>
#include <vector>

#include "fuzz/fuzz.h"
#include "heed/json_schema.h"
#include "text/patterns/byte_automaton.h"
#include "text/patterns/regex_expression.h"

using namespace heed;

namespace {

std::string shortest_text(const ByteAutomaton& automaton) {
  std::vector<std::string> texts(static_cast<size_t>(automaton.states()));
  std::vector<bool> seen(texts.size());
  seen[0] = true;
  for (std::deque<ByteAutomaton::State> queue{0}; !queue.empty(); queue.pop_front()) {
    const auto at = static_cast<size_t>(queue.front());
    if (automaton.accepts(queue.front())) {
      return texts[at];
    }
    for (const auto& edge : automaton.edges(queue.front())) {
      const auto to = static_cast<size_t>(edge.to);
      if (!seen[to]) {
        seen[to] = true;
        texts[to] = texts[at] + static_cast<char>(edge.first);
        queue.push_back(edge.to);
      }
    }
  }
  fail<InternalError>("fuzz", "matches nothing");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  std::string expression;
  fuzz::allow_refusal([&] { expression = regex_of_json_schema(fuzz::text_of(bytes, size)); });
  if (expression.empty()) {
    return 0;
  }
  try {
    parse_regex(expression);
  } catch (const Error& error) {
    fail<InternalError>("fuzz", "{}", error.what());
  }
  constexpr size_t kLongest = 5000;  // whose automaton is soon built
  if (expression.size() <= kLongest) {
    fuzz::allow_refusal([&] {
      const std::string text = shortest_text(automaton_of_regex(expression));
      ensure(nlohmann::json::accept(text), "fuzz", "not JSON: {}", text);
    });
  }
  return 0;
}
