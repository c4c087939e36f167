// What a SentencePiece model says of itself, read without trusting it: the library takes a model's word for the tables
// in it, so they are checked here first.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heed {

struct SentencePieceModel {
  enum class Type : uint8_t { unigram = 1, bpe = 2, word = 3, character = 4 };
  enum class PieceType : uint8_t { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };

  struct Piece {
    std::string text;
    float score = 0.0F;
    PieceType type = PieceType::normal;
  };

  Type type = Type::unigram;
  std::vector<Piece> pieces;
  std::string normalizer = {};         // the name of its normalization rule
  std::vector<std::string> languages;  // that it accepts
  std::optional<std::string> note;     // ours, see note_field()
  size_t note_begin = 0;               // where the note's field begins; all before it is the model
};

// Appended to a serialized model, the note lies in an extension that SentencePiece reserves for users and ignores.
std::string note_field(std::string_view note);

// FormatError names `where` and the byte, for anything that is not such a model, whole, or with tables that lead
// outside of themselves.
SentencePieceModel read_sentencepiece_model(std::string_view bytes, std::string_view where);

}  // namespace heed
