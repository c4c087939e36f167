#include "text/vocabulary/vocabulary_tokenizer.h"

#include <unicode/utf8.h>

#include <algorithm>
#include <array>

#include "base/errors.h"
#include "text/unicode/unicode.h"
#include "text/unicode/words.h"

namespace heed {
namespace {

constexpr std::string_view kContinuation = "##";

using Ids = std::unordered_map<std::string_view, TokenId>;

size_t code_point_size(char first_byte) {
  const auto byte = static_cast<unsigned char>(first_byte);
  return byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

size_t code_points_in(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(text, [](char c) { return !U8_IS_TRAIL(c); }));
}

// Finds user symbols in a text: the leftmost first, the longest one if several start there.
class SymbolMatcher {
 public:
  explicit SymbolMatcher(const std::vector<std::string>& symbols) {
    for (size_t i = 0; i < symbols.size(); ++i) {
      by_first_byte_[static_cast<unsigned char>(symbols[i].front())].push_back(
          {symbols[i], TokenId(static_cast<int32_t>(kSpecials + i))});
    }
    for (auto& entries : by_first_byte_) {
      std::ranges::stable_sort(entries, std::ranges::greater(), [](const Entry& e) { return e.text.size(); });
    }
  }

  // Calls between(text) for the text between symbols and symbol(id, text) for each symbol.
  template <class Between, class Symbol>
  void split(std::string_view text, Between&& between, Symbol&& symbol) const {
    size_t begin = 0;
    for (size_t at = 0; at < text.size();) {
      const Entry* const entry = match(text.substr(at));
      if (entry == nullptr) {
        ++at;
        continue;
      }
      if (at > begin) {
        between(text.substr(begin, at - begin));
      }
      symbol(entry->token, text.substr(at, entry->text.size()));
      begin = at += entry->text.size();
    }
    if (begin < text.size()) {
      between(text.substr(begin));
    }
  }

 private:
  struct Entry {
    std::string text;
    TokenId token;
  };

  const Entry* match(std::string_view rest) const {
    for (const Entry& entry : by_first_byte_[static_cast<unsigned char>(rest.front())]) {
      if (rest.starts_with(entry.text)) {
        return &entry;
      }
    }
    return nullptr;
  }

  std::array<std::vector<Entry>, kBytes> by_first_byte_;
};

std::vector<std::string> shown_pieces(const Vocabulary& vocabulary) {
  std::vector<std::string> shown = vocabulary.special.in_order();
  const auto show = [&](const std::string& text) {
    // U+2581 stands for a space.
    shown.push_back(text == "\u2581" ? "<U+2581>" : show_piece(text));
  };
  std::ranges::for_each(vocabulary.user_symbols, show);
  std::ranges::for_each(vocabulary.pieces, show);
  for (size_t byte = 0; vocabulary.kind == TokenizerKind::byte && byte < kBytes; ++byte) {
    shown.push_back(fmt::format("<0x{:02X}>", byte));
  }
  return shown;
}

// Takes tokens and, where they are asked for, the parts of the text that they came from.
struct TokenSink {
  std::vector<TokenId>& tokens;
  std::vector<std::string_view>* parts;

  void add(TokenId token, std::string_view part) {
    tokens.push_back(token);
    if (parts != nullptr) {
      parts->push_back(part);
    }
  }
  void shrink_to(size_t size) {
    tokens.resize(size);
    if (parts != nullptr) {
      parts->resize(size);
    }
  }
};

// The common part of the four kinds: normalization, user symbols, special tokens, the file.
class VocabularyTokenizer : public Tokenizer {
 public:
  explicit VocabularyTokenizer(Vocabulary vocabulary)
      : Tokenizer(vocabulary.kind, SpecialTokens{}, shown_pieces(vocabulary)),
        vocabulary_(std::move(vocabulary)),
        symbols_(vocabulary_.user_symbols) {}

  std::string normalize(std::string_view text) const override {
    return heed::normalize(text, vocabulary_.normalization);
  }
  std::string normalization() const override { return std::string(name_of(vocabulary_.normalization)); }
  std::vector<TextSpan> origins(std::string_view text) const override {
    const TracedText traced = normalize_traced(text, vocabulary_.normalization);
    std::vector<TokenId> tokens;
    std::vector<std::string_view> parts;
    TokenSink sink{tokens, &parts};
    split(traced.text, sink);
    std::vector<TextSpan> spans;
    spans.reserve(parts.size());
    for (const std::string_view part : parts) {
      const auto begin = static_cast<size_t>(part.data() - traced.text.data());
      spans.push_back(traced.origins.of({begin, begin + part.size()}));
    }
    return spans;
  }
  std::string serialize() const override { return write_vocabulary(vocabulary_); }

 protected:
  static constexpr TokenId kUnknown = SpecialTokens{}.unk;

  const std::vector<std::string>& pieces() const { return vocabulary_.pieces; }
  size_t first_piece() const { return kSpecials + vocabulary_.user_symbols.size(); }
  TokenId piece_id(size_t index) const { return TokenId(static_cast<int32_t>(first_piece() + index)); }

  // The text of unk, a user symbol or a piece, but not of the special tokens that are skipped.
  const std::string& string_of(TokenId token) const {
    const auto id = static_cast<size_t>(token.value);
    return token == kUnknown    ? vocabulary_.special.unk
           : id < first_piece() ? vocabulary_.user_symbols[id - kSpecials]
                                : vocabulary_.pieces[id - first_piece()];
  }

  // For a kind that puts nothing between tokens.
  std::string text_alone(TokenId token) const {
    std::string text;
    if (token == kUnknown || token.value >= static_cast<int32_t>(kSpecials)) {
      append_text(token, text);
    }
    return text;
  }

 private:
  // Text without user symbols.
  virtual void append_tokens(std::string_view text, TokenSink& tokens) const = 0;
  virtual void append_text(TokenId token, std::string& text) const = 0;

  std::vector<TokenId> encode_normalized(std::string_view text) const final {
    std::vector<TokenId> tokens;
    TokenSink sink{tokens, nullptr};
    split(text, sink);
    return tokens;
  }

  void split(std::string_view text, TokenSink& sink) const {
    symbols_.split(
        text, [&](std::string_view between) { append_tokens(between, sink); },
        [&](TokenId symbol, std::string_view spelled) { sink.add(symbol, spelled); });
  }

  std::string decode_known(std::span<const TokenId> tokens) const final {
    std::string text;
    for (const TokenId token : tokens) {
      if (token == kUnknown || token.value >= static_cast<int32_t>(kSpecials)) {
        append_text(token, text);
      }
    }
    return text;
  }

  Vocabulary vocabulary_;
  SymbolMatcher symbols_;
};

class WordTokenizer final : public VocabularyTokenizer {
 public:
  explicit WordTokenizer(Vocabulary vocabulary) : VocabularyTokenizer(std::move(vocabulary)) {
    for (size_t i = 0; i < pieces().size(); ++i) {
      ids_.emplace(pieces()[i], piece_id(i));
    }
  }

 private:
  void append_tokens(std::string_view text, TokenSink& sink) const override {
    for (const std::string_view word : split_words(text)) {
      const auto it = ids_.find(word);
      sink.add(it == ids_.end() ? kUnknown : it->second, word);
    }
  }

  void append_text(TokenId token, std::string& text) const override { append_word(text, string_of(token)); }

  Ids ids_;
};

class WordPieceTokenizer final : public VocabularyTokenizer {
 public:
  explicit WordPieceTokenizer(Vocabulary vocabulary) : VocabularyTokenizer(std::move(vocabulary)) {
    for (size_t i = 0; i < pieces().size(); ++i) {
      const std::string_view piece = pieces()[i];
      const bool continues = is_continuation(piece);
      const std::string_view text = continues ? piece.substr(kContinuation.size()) : piece;
      (continues ? inner_ : first_).emplace(text, piece_id(i));
      max_length_ = std::max(max_length_, text.size());
    }
  }

 private:
  // "##" itself can only be two words' text.
  static bool is_continuation(std::string_view piece) {
    return piece.size() > kContinuation.size() && piece.starts_with(kContinuation);
  }

  void append_tokens(std::string_view text, TokenSink& sink) const override {
    for (const std::string_view word : split_words(text)) {
      const size_t before = sink.tokens.size();
      if (code_points_in(word) > kMaxWordLength || !append_pieces(word, sink)) {
        sink.shrink_to(before);
        sink.add(kUnknown, word);
      }
    }
  }

  // The longest piece that the word starts with, then the longest continuation, and so on. False if there is none.
  bool append_pieces(std::string_view word, TokenSink& sink) const {
    for (size_t at = 0; at < word.size();) {
      const Ids& ids = at == 0 ? first_ : inner_;
      size_t size = std::min(word.size() - at, max_length_);
      auto it = ids.end();
      for (; size > 0; --size) {
        const bool whole = at + size == word.size() || !U8_IS_TRAIL(word[at + size]);
        if (whole && (it = ids.find(word.substr(at, size))) != ids.end()) {
          break;
        }
      }
      if (size == 0) {
        return false;
      }
      sink.add(it->second, word.substr(at, size));
      at += size;
    }
    return true;
  }

  void append_text(TokenId token, std::string& text) const override {
    const std::string& piece = string_of(token);
    if (static_cast<size_t>(token.value) >= first_piece() && is_continuation(piece)) {
      text.append(piece, kContinuation.size());
    } else {
      append_word(text, piece);
    }
  }

  Ids first_, inner_;
  size_t max_length_ = 0;  // bytes of a piece
};

class CharacterTokenizer final : public VocabularyTokenizer {
 public:
  explicit CharacterTokenizer(Vocabulary vocabulary) : VocabularyTokenizer(std::move(vocabulary)) {
    for (size_t i = 0; i < pieces().size(); ++i) {
      ids_.emplace(pieces()[i], piece_id(i));
    }
  }

  std::optional<std::string> bytes_of(TokenId token) const override { return text_alone(token); }

 private:
  void append_tokens(std::string_view text, TokenSink& sink) const override {
    sink.tokens.reserve(sink.tokens.size() + text.size());
    for (size_t at = 0; at < text.size();) {
      const size_t size = code_point_size(text[at]);
      const auto it = ids_.find(text.substr(at, size));
      sink.add(it == ids_.end() ? kUnknown : it->second, text.substr(at, size));
      at += size;
    }
  }

  void append_text(TokenId token, std::string& text) const override { text += string_of(token); }

  Ids ids_;
};

class ByteTokenizer final : public VocabularyTokenizer {
 public:
  using VocabularyTokenizer::VocabularyTokenizer;

  std::optional<std::string> bytes_of(TokenId token) const override { return text_alone(token); }

 private:
  void append_tokens(std::string_view text, TokenSink& sink) const override {
    sink.tokens.reserve(sink.tokens.size() + text.size());
    for (size_t at = 0; at < text.size(); ++at) {
      sink.add(piece_id(static_cast<unsigned char>(text[at])), text.substr(at, 1));
    }
  }

  void append_text(TokenId token, std::string& text) const override {
    const auto id = static_cast<size_t>(token.value);
    if (id >= first_piece()) {
      text += static_cast<char>(id - first_piece());
    } else {
      text += string_of(token);
    }
  }
};

}  // namespace

std::unique_ptr<Tokenizer> make_vocabulary_tokenizer(Vocabulary vocabulary) {
  switch (vocabulary.kind) {
    case TokenizerKind::wordpiece:
      return std::make_unique<WordPieceTokenizer>(std::move(vocabulary));
    case TokenizerKind::word:
      return std::make_unique<WordTokenizer>(std::move(vocabulary));
    case TokenizerKind::character:
      return std::make_unique<CharacterTokenizer>(std::move(vocabulary));
    case TokenizerKind::byte:
      return std::make_unique<ByteTokenizer>(std::move(vocabulary));
    default:
      fail<InternalError>("text", "{} is not a vocabulary", name_of(vocabulary.kind));
  }
}

std::unique_ptr<Tokenizer> parse_vocabulary_tokenizer(std::string_view content, std::string_view where) {
  return make_vocabulary_tokenizer(parse_vocabulary(content, where));
}

}  // namespace heed
