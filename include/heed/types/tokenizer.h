// Tokenizers: kinds, options and summaries.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "heed/types/letter_case.h"
#include "heed/types/names.h"
#include "heed/types/too_long.h"

namespace heed {

enum class TokenizerKind : uint8_t { bpe, unigram, wordpiece, word, character, byte };

inline constexpr std::array<NamedValue<TokenizerKind>, 6> kTokenizerKindNames{{{"bpe", TokenizerKind::bpe},
                                                                               {"unigram", TokenizerKind::unigram},
                                                                               {"wordpiece", TokenizerKind::wordpiece},
                                                                               {"word", TokenizerKind::word},
                                                                               {"char", TokenizerKind::character},
                                                                               {"byte", TokenizerKind::byte}}};

constexpr std::string_view name_of(TokenizerKind kind) { return name_among(kTokenizerKindNames, kind); }

// What is done to text before it is cut into tokens: chosen once, stored with the tokenizer.
enum class NormalForm : uint8_t { none, nfc, nfkc };

inline constexpr std::array<NamedValue<NormalForm>, 3> kNormalFormNames{
    {{"none", NormalForm::none}, {"nfc", NormalForm::nfc}, {"nfkc", NormalForm::nfkc}}};

struct Normalization {
  NormalForm form = NormalForm::nfc;
  LetterCase letter_case = LetterCase::kept;

  bool operator==(const Normalization&) const = default;
};

inline constexpr std::array<NamedValue<Normalization>, 6> kNormalizationNames{{
    {"none", {NormalForm::none, LetterCase::kept}},
    {"nfc", {NormalForm::nfc, LetterCase::kept}},
    {"nfkc", {NormalForm::nfkc, LetterCase::kept}},
    {"none lowercase", {NormalForm::none, LetterCase::lower}},
    {"nfc lowercase", {NormalForm::nfc, LetterCase::lower}},
    {"nfkc lowercase", {NormalForm::nfkc, LetterCase::lower}},
}};

constexpr std::string_view name_of(const Normalization& normalization) {
  return name_among(kNormalizationNames, normalization);
}

// How the special tokens are spelled. They never match text.
struct SpecialTexts {
  std::string pad = "<pad>", unk = "<unk>", bos = "<s>", eos = "</s>", sep = "<sep>";

  std::vector<std::string> in_order() const { return {pad, unk, bos, eos, sep}; }
};

// How each kind learns its vocabulary:
//   bpe, unigram  SentencePiece's trainers; characters outside the coverage are spelled in bytes
//   wordpiece     starts from characters and joins, again and again, the pair a, b of pieces that raises the text's
//                 likelihood under a model of independent pieces most: n(ab) log(N n(ab) / (n(a) n(b)))
//   word          the words that occur at least minimum_count times, most frequent first
//   char          the same for characters, the line break included
//   byte          learns nothing: there are 256 bytes
struct TokenizerTraining {
  TokenizerKind kind = TokenizerKind::bpe;
  int64_t vocabulary = 0;  // the maximum size, all tokens included. 0: no limit (word, char and byte only)
  Normalization normalization;
  SpecialTexts special;
  std::vector<std::string> user_symbols;  // one token each, wherever they stand in the text
  int64_t minimum_count = 0;              // of a word (0: 2), a character (0: 1) or a wordpiece's pair (0: 2)
  int64_t sample_lines = 5'000'000;       // for bpe and unigram, which hold them in memory: sampled evenly from more
  double coverage = 0.0;                  // share of all characters that the vocabulary covers; 0: 0.9995 (char: 1)
};

// What encode() puts around a text's tokens and what it does when they are too many.
struct EncodingOptions {
  enum class Edge : uint8_t { bare, marked };

  Edge begin = Edge::bare, end = Edge::bare;  // marked: with bos, with eos
  std::optional<int64_t> max_length;          // in tokens, bos and eos included
  TooLong too_long = TooLong::refuse;         // truncate: bos and eos stay
};

struct TokenizerSummary {
  struct Special {
    std::string role, text;  // text is empty and id -1 where the tokenizer has none
    int32_t id = -1;
  };

  TokenizerKind kind = TokenizerKind::bpe;
  std::string normalization;  // in words: a SentencePiece model from elsewhere may have one of its own
  int64_t vocabulary = 0;
  std::vector<Special> special;  // pad, unk, bos, eos, sep
};

// Characters (code points) begin to end - 1 of a text.
struct TokenOffsets {
  int64_t begin = 0, end = 0;

  bool operator==(const TokenOffsets&) const = default;
};

// How a text became tokens, step by step: a bpe's merges, a wordpiece's matches, the pieces that a unigram model chose.
struct TokenizerTrace {
  struct Step {
    std::string from;                 // bpe: the two neighbours; wordpiece: what was left of the word
    std::string piece;                // that they became
    double score = 0.0;               // bpe: the higher, the earlier it is merged; unigram: log probability
    std::vector<std::string> tokens;  // bpe: all tokens after this step
  };

  TokenizerKind kind = TokenizerKind::bpe;
  std::string normalized;          // the text that was cut
  std::vector<std::string> start;  // bpe: its characters
  std::vector<Step> steps;
  std::vector<std::string> tokens;  // the result
};

}  // namespace heed
