// Text to tokens and back.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/strong.h"
#include "heed/types/tokenizer.h"
#include "text/sentences/text_span.h"

namespace heed {

inline constexpr TokenId kNoToken{-1};

// Tokenizers that heed trains have these ids. A SentencePiece model from elsewhere keeps its own: where it has no pad,
// pad is eos, or else unk; where it has no bos, eos or sep, that is kNoToken.
struct SpecialTokens {
  TokenId pad{0}, unk{1}, bos{2}, eos{3}, sep{4};

  bool operator==(const SpecialTokens&) const = default;
};

// One thing of what a model reads: a token, or the place of a text.
struct FrameSlot {
  static constexpr int32_t kToken = -1;

  int32_t text = kToken;  // 0: the first text, 1: the second
  TokenId token{-1};
  int32_t type = 0;

  bool operator==(const FrameSlot&) const = default;
};

// By its name; ConfigError, which lists them, for anything else.
TokenizerKind parse_tokenizer_kind(std::string_view name);

// Immutable, and safe to use from several threads at once.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  TokenizerKind kind() const { return kind_; }
  int64_t vocabulary_size() const { return static_cast<int64_t>(pieces_.size()); }
  const SpecialTokens& special() const { return special_; }

  // A token in readable form, without white space or control characters: a space is U+2581, others are like <U+000A>.
  // ShapeError outside the vocabulary.
  std::string_view piece(TokenId token) const;
  std::optional<TokenId> find(std::string_view piece) const;  // the first token with this piece

  // The tokens of the normalized text; neither bos nor eos is added. Special tokens never come out of text: "</s>" in
  // it is four characters. FormatError where the text is not UTF-8.
  std::vector<TokenId> encode(std::string_view text) const;

  // The normalized text again, as far as the kind can restore it:
  //   bpe, unigram (of heed), byte   exactly
  //   char                           exactly, except that each character outside the vocabulary becomes unk's text
  //   word, wordpiece                up to white space, which is put where punctuation and script ask for it, and up to
  //                                  words outside the vocabulary
  //   bpe, unigram (from elsewhere)  as SentencePiece itself does
  // Skips pad, bos, eos and sep. Always UTF-8: byte tokens that do not form a character become U+FFFD.
  std::string decode(std::span<const TokenId> tokens) const;

  // What the tokenizer's file puts around one text, or around two that are read together. Empty for tokenizers that
  // heed trains, around whose texts each kind of model has tokens of its own.
  virtual std::span<const FrameSlot> frame(int /*texts*/) const { return {}; }

  // The token that hides others from a masked language model: "<mask>" or "[MASK]"; kNoToken if there is none.
  virtual TokenId mask() const;
  // encode(), where each occurrence of the mask's piece becomes the mask. A space before it, with which many tokens
  // begin, belongs to the mask.
  virtual std::vector<TokenId> encode_masked(std::string_view text, TokenId mask) const;

  // What a token adds to a text, whatever its neighbours are: empty for tokens that decode() skips, and none for kinds
  // that put white space between tokens (word, wordpiece).
  virtual std::optional<std::string> bytes_of(TokenId /*token*/) const { return std::nullopt; }
  // The same, also where the first tokens of a text may lose white space by other rules.
  virtual std::optional<std::string> token_bytes(TokenId token) const { return bytes_of(token); }
  // The bytes of the text that each token of encode(text) came from. FormatError where the text is not UTF-8.
  virtual std::vector<TextSpan> origins(std::string_view text) const = 0;

  // Whether encode() and decode() are meant for texts of several lines, and not for each line.
  virtual bool takes_lines() const { return false; }
  // Whether decode() leaves out a space at the beginning of a text.
  virtual bool drops_first_space() const { return false; }

  // The text that encode() splits and decode() restores.
  virtual std::string normalize(std::string_view text) const = 0;
  virtual std::string normalization() const = 0;  // in a few words

  virtual std::string serialize() const = 0;  // the file's bytes

 protected:
  // `pieces` as show_piece() makes them.
  Tokenizer(TokenizerKind kind, SpecialTokens special, std::vector<std::string> pieces);

 private:
  virtual std::vector<TokenId> encode_normalized(std::string_view text) const = 0;
  virtual std::string decode_known(std::span<const TokenId> tokens) const = 0;  // all inside the vocabulary

  TokenizerKind kind_;
  SpecialTokens special_;
  std::vector<std::string> pieces_;
  std::unordered_map<std::string_view, TokenId> ids_;
};

// The mark that a document begins with: bos, or eos if the tokenizer has no bos.
TokenId beginning_of_document(const Tokenizer& tokenizer);

// A tokenizer from its file's bytes; the bytes tell the kind. FormatError names `where`, usually the path.
std::unique_ptr<Tokenizer> parse_tokenizer(std::string content, std::string_view where);
std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& path);
void save_tokenizer(const Tokenizer& tokenizer, const std::filesystem::path& path);

// Well-formed text with white space and control characters made visible.
std::string show_piece(std::string_view text);

struct LengthLimit {
  int64_t max_length = 0;  // tokens
  TooLong too_long = TooLong::refuse;
};

// All tokens, the first max_length of them, or nullopt, as the policy says. A refusal is a FormatError that names
// `where`.
std::optional<std::vector<TokenId>> limit_length(std::vector<TokenId> tokens, const LengthLimit& limit,
                                                 std::string_view where);

}  // namespace heed
