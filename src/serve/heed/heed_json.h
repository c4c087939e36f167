// What the paths of heed's own interface have in common.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "heed/types/reading/on_result.h"
#include "heed/types/writing/generation.h"
#include "heed/types/writing/token_scores.h"
#include "heed/types/writing/writing_rules.h"
#include "serve/call.h"

namespace heed::serve {

Json json_of_token(const ScoredToken& token);
Json json_of_tokens(const std::vector<ScoredToken>& tokens);

// A list of texts, or one text under the singular name. Refused where there is neither, or both, or too many.
std::vector<std::string> take_texts(Fields& fields, const char* texts, const char* text, const Call& call);

// "prompt", the beginning of a text, or "messages", a conversation; "prefix" is the beginning of what follows.
std::string take_prompt(Fields& fields, const ServedModel& model, GenerationOptions& options);

// "tokens", and "top_tokens": how many of the likeliest are listed at the place of each.
struct ListedTokens {
  EachToken each;
  int64_t likeliest;
};
ListedTokens take_listed_tokens(Fields& fields);

// Texts of a rule, whose automaton has about a kilobyte for each of their bytes: refused where that is too much.
std::optional<std::vector<std::string>> take_rule_texts(Fields& fields, const char* name, size_t most);
// "min_tokens", "no_repeat_ngram" and "suppress".
void take_rules(Fields& fields, const Call& call, WritingRules& rules);
void take_sampling(Fields& fields, SamplingOptions& sampling);

// "stream": whether results are sent as they come.
enum class Delivery : uint8_t { whole, streamed };
Delivery take_delivery(Fields& fields);
// The whole answer, or the last event of a stream.
void answer(Call& call, const Json& whole, Delivery delivery);
// What sends the result of each text as an event of a stream, if it is one: its line, and under `name` what to_json
// makes of it.
template <class Result, class ToJson>
OnResult<Result> events_of_results(Call& call, Delivery delivery, const char* name, ToJson to_json) {
  if (delivery == Delivery::whole) {
    return {};
  }
  return [&call, name, to_json](size_t line, const Result& result) {
    call.send_event(to_text({{"line", line}, {name, to_json(result)}}));
  };
}
template <class Result, class ToJson>
Json list_of(const std::vector<Result>& results, ToJson to_json) {
  Json list = Json::array();
  for (const Result& result : results) {
    list.push_back(to_json(result));
  }
  return list;
}

}  // namespace heed::serve
