// A SentencePiece model, read without trusting it: the library does not check the tables in a model, so they are
// checked here first.
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
  std::string normalizer = {};     // the name of its normalization rule
  bool maps_characters = false;    // by that rule
  std::string character_map = {};  // that it is written in, checked
  // What becomes of spaces: one is put before the text, several become one, and they are written as U+2581, which
  // begins a word or (as_suffix) ends it.
  struct Spaces {
    bool prefixed = true, trimmed = true, escaped = true, as_suffix = false;
  };
  Spaces spaces = {};
  std::vector<std::string> languages;  // that it accepts
  std::optional<std::string> note;     // ours, see note_field()
  size_t note_begin = 0;               // where the note's field begins; everything before it is the model
};

// Appended to a serialized model, the note is an extension field that SentencePiece reserves for users and ignores.
std::string note_field(std::string_view note);

// FormatError names `where` and the byte, when the bytes are not a complete model, or its tables point outside of
// themselves.
SentencePieceModel read_sentencepiece_model(std::string_view bytes, std::string_view where);

}  // namespace heed
