#include "decode/texts/text_stream.h"

#include <algorithm>
#include <utility>

#include "base/errors.h"
#include "base/text/excerpt.h"
#include "text/huggingface/characters/characters.h"
#include "text/lines/multiline.h"
#include "text/unicode/unicode.h"

namespace heed {
namespace {

constexpr size_t kPromptTokens = 8;                        // enough context to decode the next token
constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD: an incomplete character decodes to it

// The length of the longest suffix of `text` that is a prefix of a stop text.
size_t prefix_of_stop(std::string_view text, std::span<const std::string> stops) {
  size_t longest = 0;
  for (const std::string_view stop : stops) {
    for (size_t length = std::min(text.size(), stop.size() - 1); length > longest; --length) {
      if (text.ends_with(stop.substr(0, length))) {
        longest = length;
      }
    }
  }
  return longest;
}

// The text after what was returned. A run of byte tokens that turns out not to be UTF-8 decodes differently from its
// beginning, so what was returned may end within a character.
std::string text_after(size_t returned, const std::string& text) {
  while (returned < text.size() && huggingface::continues_character(text[returned])) {
    ++returned;
  }
  return returned < text.size() ? text.substr(returned) : "";
}

bool comes_out(const Tokenizer& tokenizer, const std::string& written, const std::string& stop) {
  try {
    const std::vector<TokenId> tokens = encode_text(tokenizer, written);
    return !std::ranges::count(tokens, tokenizer.special().unk) &&
           decode_text(tokenizer, tokens).find(stop) != std::string::npos;
  } catch (const ConfigError&) {
    return false;  // a line break that the tokenizer does not have
  }
}

}  // namespace

TextStream::TextStream(const Tokenizer& tokenizer, std::span<const TokenId> prompt, std::span<const std::string> stops)
    : tokenizer_(tokenizer), stops_(stops) {
  const std::span<const TokenId> last = prompt.last(std::min(prompt.size(), kPromptTokens));
  tokens_.assign(last.begin(), last.end());
  known_ = tokens_.size();
}

std::string TextStream::add(TokenId token) {
  tokens_.push_back(token);
  const std::string before = decode(first_, known_), after = decode(first_, tokens_.size());
  if (after.size() <= before.size() || after.ends_with(kReplacement)) {
    return "";
  }
  first_ = known_;
  known_ = tokens_.size();
  return release(text_after(before.size(), after));
}

std::string TextStream::finish() {
  const std::string before = decode(first_, known_), after = decode(first_, tokens_.size());
  known_ = tokens_.size();
  std::string text = release(text_after(before.size(), after));
  return stopped_ ? text : text + std::exchange(pending_, "");
}

std::string TextStream::decode(size_t first, size_t last) const {
  return decode_text(tokenizer_, std::span(tokens_).subspan(first, last - first));
}

std::string TextStream::release(const std::string& decoded) {
  length_ += decoded.size();
  const std::string text = std::exchange(pending_, "") + decoded;
  size_t end = std::string::npos;
  for (const std::string& stop : stops_) {
    end = std::min(end, text.find(stop));
  }
  if (end != std::string::npos) {
    stopped_ = true;
    return text.substr(0, end);
  }
  const size_t certain = text.size() - prefix_of_stop(text, stops_);
  pending_ = text.substr(certain);
  return text.substr(0, certain);
}

void require_writable(const Tokenizer& tokenizer, std::span<const std::string> stops) {
  for (const std::string& stop : stops) {
    require<ConfigError>(!stop.empty(), "stop text", "is empty");
    require<ConfigError>(!find_invalid_utf8(stop), "stop text", "{} is not UTF-8", shown(stop));
    // Some tokenizers drop white space at the ends of a text.
    require<ConfigError>(comes_out(tokenizer, stop, stop) || comes_out(tokenizer, "a" + stop + "a", stop), "stop text",
                         "the model's tokenizer cannot write {}, so it would never appear", shown(stop));
  }
}

}  // namespace heed
