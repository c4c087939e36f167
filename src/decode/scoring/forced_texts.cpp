#include "decode/scoring/forced_texts.h"

#include <algorithm>
#include <utility>

#include "base/errors.h"
#include "base/text/excerpt.h"
#include "base/text/plural.h"
#include "text/token_ids.h"
#include "text/unicode/unicode.h"

namespace heed {

ForcedPhrases phrases_of_texts(std::span<const std::string> texts, const TextEncoding& encoding,
                               const WritingRules& rules) {
  const Tokenizer& tokenizer = encoding.tokenizer;
  std::vector<std::vector<int32_t>> phrases;
  phrases.reserve(texts.size());
  for (const std::string& text : texts) {
    const std::string where = fmt::format("the forced text '{}'", shown(text));
    require_text(text, where);
    const std::vector<int32_t>& phrase = phrases.emplace_back(ids_of(encoding.encode(text)));
    require<ConfigError>(!phrase.empty(), where, "has no tokens");
    require<ConfigError>(std::ranges::find(phrase, tokenizer.special().unk.value) == phrase.end(), where,
                         "the model's tokenizer has no tokens for it");
    const std::string written = tokenizer.decode(tokens_of(phrase));
    for (const std::string& suppressed : rules.suppress) {
      require<ConfigError>(written.find(suppressed) == std::string::npos, where, "contains '{}', which is suppressed",
                           shown(suppressed));
    }
  }
  return ForcedPhrases(std::move(phrases));
}

void require_beam(const ForcedPhrases& forced, int64_t beam) {
  require<ConfigError>(beam > forced.tokens(), "forced texts", "{} token{} need a beam of at least {}, but it is {}",
                       forced.tokens(), plural(forced.tokens()), forced.tokens() + 1, beam);
}

}  // namespace heed
