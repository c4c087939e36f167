// Which models translate between which languages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "serve/call.h"

namespace heed::serve {

// A direction that a model knows.
struct LanguageDirection {
  std::string model;
  std::string source, target;  // codes, as "de"
  LanguagePair names;          // what the model calls them; empty: it knows this pair alone
};

// Those that the call's key may use.
std::vector<LanguageDirection> directions_of(Call& call);

// The direction, whatever the case of the codes; "zh", "zt" and "pb" stand for zh-Hans, zh-Hant and pt-BR.
// RequestError, with the field's name, where no model knows it.
LanguageDirection find_direction(const std::vector<LanguageDirection>& directions, std::string_view source,
                                 std::string_view target);

// Whether a client's code means a code of the settings, as above.
bool are_same_language(std::string_view given, std::string_view known);

// The code of the settings for a language that was detected as `language`: "zh-Hans" where that is "zh". Of several,
// one that is translated to `target`. Empty where the language is not translated from.
std::string source_for(const std::vector<LanguageDirection>& directions, std::string_view language,
                       std::string_view target);

// "German" for "de"; the code itself where ICU has no name.
std::string language_name(const std::string& code);

}  // namespace heed::serve
