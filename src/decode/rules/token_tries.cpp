#include "decode/rules/token_tries.h"

#include <algorithm>

#include "base/errors.h"
#include "text/lines/multiline.h"

namespace heed {
namespace {

bool is_one_character(const std::string& bytes) {
  return bytes.size() == 1 ||
         std::ranges::all_of(bytes.substr(1), [](char c) { return (static_cast<uint8_t>(c) & 0xC0U) == 0x80; });
}

void add_token(TokenTries::Trie& trie, const std::string& bytes, int32_t token) {
  int32_t at = 0;
  for (const char c : bytes) {
    const auto byte = static_cast<uint8_t>(c);
    auto& children = trie[static_cast<size_t>(at)].children;
    const auto found = std::ranges::lower_bound(children, byte, {}, &std::pair<uint8_t, int32_t>::first);
    if (found != children.end() && found->first == byte) {
      at = found->second;
      continue;
    }
    const auto added = static_cast<int32_t>(trie.size());
    children.insert(found, {byte, added});
    trie.emplace_back();
    at = added;
  }
  trie[static_cast<size_t>(at)].tokens.push_back(token);
}

}  // namespace

TokenTries::TokenTries(const Tokenizer& tokenizer, std::span<const int32_t> suppressed)
    : eos_(tokenizer.special().eos.value),
      line_break_(line_break_token(tokenizer).value_or(kNoToken).value),
      drops_first_space_(tokenizer.drops_first_space()),
      texts_(static_cast<size_t>(tokenizer.vocabulary_size())),
      all_(1),
      characters_(1) {
  for (int32_t token = 0; token < static_cast<int32_t>(vocabulary()); ++token) {
    std::optional<std::string> text = tokenizer.bytes_of(TokenId(token));
    require<ConfigError>(
        text.has_value(), "constraints",
        "the tokenizer's tokens must be pieces of text (bpe, unigram, char or byte), and it must be one of heed's");
    if (text->empty() || token == eos_ || std::ranges::find(suppressed, token) != suppressed.end()) {
      continue;
    }
    add_token(all_, *text, token);
    if (is_one_character(*text)) {
      add_token(characters_, *text, token);
    }
    texts_[static_cast<size_t>(token)] = std::move(*text);
  }
}

}  // namespace heed
