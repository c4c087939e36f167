#include "text/lines/multiline.h"

#include <algorithm>
#include <array>

#include "base/errors.h"

namespace heed {

// Byte and character tokenizers have different pieces for it.
std::optional<TokenId> line_break_token(const Tokenizer& tokenizer) {
  for (const char* const piece : {"<U+000A>", "<0x0A>"}) {
    const std::optional<TokenId> token = tokenizer.find(piece);
    if (token && tokenizer.decode(std::array{*token}) == "\n") {
      return token;
    }
  }
  return std::nullopt;
}

std::vector<TokenId> encode_text(const Tokenizer& tokenizer, std::string_view text) {
  if (tokenizer.takes_lines()) {
    return tokenizer.encode(text);
  }
  std::vector<TokenId> tokens;
  const std::optional<TokenId> line_break = line_break_token(tokenizer);
  while (true) {
    const size_t end = text.find('\n');
    const std::vector<TokenId> line = tokenizer.encode(text.substr(0, end));
    tokens.insert(tokens.end(), line.begin(), line.end());
    if (end == std::string_view::npos) {
      return tokens;
    }
    require<ConfigError>(line_break.has_value(), "text",
                         "it has several lines, but the {} tokenizer has no token for a line break",
                         name_of(tokenizer.kind()));
    tokens.push_back(*line_break);
    text.remove_prefix(end + 1);
  }
}

std::string decode_text(const Tokenizer& tokenizer, std::span<const TokenId> tokens) {
  if (tokenizer.takes_lines()) {
    return tokenizer.decode(tokens);
  }
  const std::optional<TokenId> line_break = line_break_token(tokenizer);
  std::string text;
  while (true) {
    const auto end = line_break ? std::ranges::find(tokens, *line_break) : tokens.end();
    text += tokenizer.decode({tokens.begin(), end});
    if (end == tokens.end()) {
      return text;
    }
    text += '\n';
    tokens = {end + 1, tokens.end()};
  }
}

}  // namespace heed
