#include "decode/texts/translation/unknown_words.h"

#include <algorithm>
#include <array>

#include "text/unicode/unicode.h"
#include "text/unicode/words.h"

namespace heed {
namespace {

std::vector<std::string> between_spaces(const std::string& text) {
  std::vector<std::string> words;
  for (size_t begin = text.find_first_not_of(' '); begin != std::string::npos;) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = text.find_first_not_of(' ', end);
  }
  return words;
}

std::vector<std::string> words_of(TokenizerKind kind, const std::string& text) {
  std::vector<std::string> words;
  if (kind == TokenizerKind::character) {
    for (const char32_t c : to_code_points(text)) {
      words.push_back(to_utf8({&c, 1}));
    }
    return words;
  }
  if (kind != TokenizerKind::word && kind != TokenizerKind::wordpiece) {
    return between_spaces(text);
  }
  for (const std::string_view word : split_words(text)) {
    words.emplace_back(word);
  }
  return words;
}

}  // namespace

std::vector<std::string> words_of_tokens(const Tokenizer& tokenizer, std::string_view line) {
  std::vector<TokenId> tokens;
  std::vector<std::string> words;
  for (const std::string& word : words_of(tokenizer.kind(), tokenizer.normalize(line))) {
    const std::vector<TokenId> own = tokenizer.encode(word);
    tokens.insert(tokens.end(), own.begin(), own.end());
    words.insert(words.end(), own.size(), word);
  }
  return tokens == tokenizer.encode(line) ? words : std::vector<std::string>{};
}

std::string replace_unknown(const Tokenizer& tokenizer, const std::string& text,
                            const std::vector<std::string>& words) {
  const std::string unknown = tokenizer.decode(std::array{tokenizer.special().unk});
  std::string replaced;
  size_t begin = 0;
  for (const std::string& word : words) {
    const size_t at = unknown.empty() ? std::string::npos : text.find(unknown, begin);
    if (at == std::string::npos) {
      break;
    }
    replaced += text.substr(begin, at - begin) + (word.empty() ? unknown : word);
    begin = at + unknown.size();
  }
  return replaced + text.substr(begin);
}

}  // namespace heed
