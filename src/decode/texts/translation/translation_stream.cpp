#include "decode/texts/translation/translation_stream.h"

#include <algorithm>

#include "base/errors.h"
#include "text/token_ids.h"

namespace heed {
namespace {

constexpr std::string_view kIncomplete = "\xef\xbf\xbd";  // U+FFFD: an incomplete character decodes to it

bool is_byte(const Tokenizer& tokenizer, int32_t token) {
  const std::string_view piece = tokenizer.piece(TokenId(token));
  return piece.size() == 6 && piece.starts_with("<0x") && piece.ends_with('>');
}

}  // namespace

std::string translation_text(const Tokenizer& target, std::span<const int32_t> tokens) {
  std::string text = target.decode(tokens_of(tokens));
  std::ranges::replace_if(
      text, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return text;
}

// The whole text is decoded each time: what becomes of white space may depend on its beginning.
std::string TranslationStream::add(std::span<const int32_t> tokens) {
  const std::string text = certain(tokens);
  if (text.size() <= given_.size() || !text.starts_with(given_)) {
    return "";
  }
  std::string piece = text.substr(given_.size());
  given_ = text;
  return piece;
}

std::string TranslationStream::finish(const std::string& text) {
  ensure(text.starts_with(given_), "translation", "the text changed while it was written");
  return text.substr(given_.size());
}

std::string TranslationStream::certain(std::span<const int32_t> tokens) const {
  // Where bytes are rare, a run of them that is no text becomes something else as a whole.
  while (target_.kind() != TokenizerKind::byte && !tokens.empty() && is_byte(target_, tokens.back())) {
    tokens = tokens.first(tokens.size() - 1);
  }
  std::string text = translation_text(target_, tokens);
  while (text.ends_with(kIncomplete)) {
    text.resize(text.size() - kIncomplete.size());
  }
  if (!tokens.empty() && !target_.token_bytes(TokenId(tokens.back()))) {
    const size_t last_word = text.rfind(' ');
    text.resize(last_word == std::string::npos ? 0 : last_word);
  }
  return text;
}

}  // namespace heed
