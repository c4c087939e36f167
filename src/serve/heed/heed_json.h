// What the paths of heed's own interface have in common.
#pragma once

#include <string>
#include <string_view>
#include <vector>

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

}  // namespace heed::serve
