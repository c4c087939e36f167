#include "text/tokenizer.h"

#include <unicode/uchar.h>

#include "base/system/files.h"
#include "base/text/names.h"
#include "text/huggingface/huggingface_tokenizer.h"
#include "text/sentencepiece/sentencepiece_tokenizer.h"
#include "text/unicode/unicode.h"
#include "text/vocabulary/vocabulary_tokenizer.h"

namespace heed {
TokenizerKind parse_tokenizer_kind(std::string_view name) {
  return value_named("tokenizer kind", name, kTokenizerKindNames);
}

TokenId beginning_of_document(const Tokenizer& tokenizer) {
  const SpecialTokens& special = tokenizer.special();
  return special.bos != kNoToken ? special.bos : special.eos != kNoToken ? special.eos : TokenId(0);
}

std::string show_piece(std::string_view text) {
  std::string shown;
  for (const char32_t code_point : to_code_points(text)) {
    const auto c = static_cast<UChar32>(code_point);
    if (code_point == U' ') {
      shown += "\u2581";
    } else if (u_isUWhiteSpace(c) || u_iscntrl(c)) {
      shown += fmt::format("<U+{:04X}>", static_cast<uint32_t>(code_point));
    } else {
      shown += to_utf8({&code_point, 1});
    }
  }
  return shown;
}

Tokenizer::Tokenizer(TokenizerKind kind, SpecialTokens special, std::vector<std::string> pieces)
    : kind_(kind), special_(special), pieces_(std::move(pieces)) {
  ids_.reserve(pieces_.size());
  for (size_t i = 0; i < pieces_.size(); ++i) {
    ids_.emplace(pieces_[i], TokenId(static_cast<int32_t>(i)));
  }
}

std::string_view Tokenizer::piece(TokenId token) const {
  require(token.value >= 0 && token.value < vocabulary_size(), "tokenizer", "token {} is outside the vocabulary of {}",
          token.value, vocabulary_size());
  return pieces_[static_cast<size_t>(token.value)];
}

std::optional<TokenId> Tokenizer::find(std::string_view piece) const {
  const auto it = ids_.find(piece);
  return it == ids_.end() ? std::nullopt : std::optional(it->second);
}

std::vector<TokenId> Tokenizer::encode(std::string_view text) const { return encode_normalized(normalize(text)); }

TokenId Tokenizer::mask() const { return find("<mask>").value_or(find("[MASK]").value_or(kNoToken)); }

// The mask is among the symbols that encode() finds in any text.
std::vector<TokenId> Tokenizer::encode_masked(std::string_view text, TokenId mask) const {
  constexpr std::string_view kJoinedSpace = "\u2581";
  const bool joins_spaces = kind_ == TokenizerKind::bpe || kind_ == TokenizerKind::unigram;
  std::vector<TokenId> tokens;
  for (const TokenId token : encode(text)) {
    if (token == mask && joins_spaces && !tokens.empty() && piece(tokens.back()) == kJoinedSpace) {
      tokens.pop_back();
    }
    tokens.push_back(token);
  }
  return tokens;
}

std::string Tokenizer::decode(std::span<const TokenId> tokens) const {
  for (const TokenId token : tokens) {
    require(token.value >= 0 && token.value < vocabulary_size(), "decode", "token {} is outside the vocabulary of {}",
            token.value, vocabulary_size());
  }
  return replace_invalid_utf8(decode_known(tokens));
}

std::unique_ptr<Tokenizer> parse_tokenizer(std::string content, std::string_view where) {
  require<FormatError>(!content.empty(), where, "expected a tokenizer, found an empty file");
  if (is_huggingface_tokenizer(content)) {
    return parse_huggingface_tokenizer(std::move(content), where);
  }
  // A SentencePiece model begins with the tag of its first field, never with a brace.
  return content.front() == '{' ? parse_vocabulary_tokenizer(content, where)
                                : parse_sentencepiece_tokenizer(std::move(content), where);
}

std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& path) {
  return parse_tokenizer(read_file(path), path.string());
}

void save_tokenizer(const Tokenizer& tokenizer, const std::filesystem::path& path) {
  write_file(path, tokenizer.serialize());
}

std::optional<std::vector<TokenId>> limit_length(std::vector<TokenId> tokens, const LengthLimit& limit,
                                                 std::string_view where) {
  require<ConfigError>(limit.max_length >= 0, "length", "a limit of {} tokens, expected 0 or more", limit.max_length);
  const auto max_length = static_cast<size_t>(limit.max_length);
  if (tokens.size() <= max_length) {
    return tokens;
  }
  require<FormatError>(limit.too_long != TooLong::refuse, where, "{} tokens, at most {} are allowed", tokens.size(),
                       max_length);
  if (limit.too_long == TooLong::drop) {
    return std::nullopt;
  }
  tokens.resize(max_length);
  return tokens;
}

}  // namespace heed
