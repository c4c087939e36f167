// A model is a protocol buffer, ModelProto:
//   1: pieces (repeated)  1: piece  2: score  3: type
//   2: trainer            3: model type  5: accepted languages (repeated)  24: spaces end words
//   3: normalizer         1: name  2: character map  3: space before the text  4: spaces trimmed  5: spaces escaped
//   5: denormalizer       as the normalizer
#include "text/sentencepiece/sentencepiece_model.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <unordered_set>

#include "base/errors.h"
#include "text/sentencepiece/protobuf.h"
#include "text/unicode/character_map.h"
#include "text/unicode/unicode.h"

namespace heed {
namespace {

constexpr uint32_t kNoteNumber = 1017;
// SentencePiece has room for 64 user symbols that match at one position.
constexpr size_t kNestedSymbols = 60;

using Piece = SentencePieceModel::Piece;
using PieceType = SentencePieceModel::PieceType;

Piece read_piece(ProtobufReader reader, size_t index, std::string_view where) {
  Piece piece;
  while (const auto field = reader.next()) {
    switch (field->number) {
      case 1:
        piece.text = field->as_bytes(where);
        break;
      case 2:
        piece.score = std::bit_cast<float>(field->as_fixed32(where));
        require<FormatError>(std::isfinite(piece.score), where, "the score of piece {} is not a number", index);
        break;
      case 3: {
        const uint64_t type = field->as_number(where);
        require<FormatError>(type >= 1 && type <= 6, where, "piece {} has the unknown type {}", index, type);
        piece.type = static_cast<PieceType>(type);
        break;
      }
      default:
        break;
    }
  }
  require<FormatError>(
      !piece.text.empty() && !find_invalid_utf8(piece.text) && piece.text.find('\0') == std::string::npos, where,
      "piece {} is not a text", index);
  return piece;
}

void read_trainer(ProtobufReader reader, SentencePieceModel& model, std::string_view where) {
  while (const auto field = reader.next()) {
    if (field->number == 3) {
      const uint64_t type = field->as_number(where);
      require<FormatError>(type >= 1 && type <= 4, where, "the unknown model type {}", type);
      model.type = static_cast<SentencePieceModel::Type>(type);
    } else if (field->number == 5) {
      model.languages.emplace_back(field->as_bytes(where));
    } else if (field->number == 24) {
      model.spaces.as_suffix = field->as_number(where) != 0;
    }
  }
}

void read_normalizer(ProtobufReader reader, SentencePieceModel& model, std::string_view where) {
  while (const auto field = reader.next()) {
    switch (field->number) {
      case 1:
        model.normalizer = field->as_bytes(where);
        break;
      case 2:
        check_character_map(field->as_bytes(where), where);
        model.character_map = field->as_bytes(where);
        model.maps_characters = !model.character_map.empty();
        break;
      case 3:
        model.spaces.prefixed = field->as_number(where) != 0;
        break;
      case 4:
        model.spaces.trimmed = field->as_number(where) != 0;
        break;
      case 5:
        model.spaces.escaped = field->as_number(where) != 0;
        break;
      default:
        break;
    }
  }
}

void check_denormalizer(ProtobufReader reader, std::string_view where) {
  while (const auto field = reader.next()) {
    if (field->number == 2) {
      check_character_map(field->as_bytes(where), where);
    }
  }
}

void check_user_symbols(const std::vector<Piece>& pieces, std::string_view where) {
  std::unordered_set<std::string_view> symbols;
  for (const Piece& piece : pieces) {
    if (piece.type == PieceType::user_defined) {
      symbols.insert(piece.text);
    }
  }
  for (const std::string_view symbol : symbols) {
    size_t nested = 0;
    for (size_t size = 1; size < symbol.size(); ++size) {
      nested += symbols.contains(symbol.substr(0, size)) ? 1 : 0;
    }
    require<FormatError>(nested <= kNestedSymbols, where,
                         "a user symbol that starts with {} others, expected at most {}", nested, kNestedSymbols);
  }
}

}  // namespace

std::string note_field(std::string_view note) {
  ensure(note.size() < 128, "sentencepiece", "a note of {} bytes", note.size());
  constexpr uint32_t kTag = kNoteNumber << 3 | 2;  // two bytes of seven bits, lower first
  std::string field{static_cast<char>((kTag & 0x7f) | 0x80), static_cast<char>(kTag >> 7),
                    static_cast<char>(note.size())};
  return field.append(note);
}

SentencePieceModel read_sentencepiece_model(std::string_view bytes, std::string_view where) {
  SentencePieceModel model;
  std::unordered_set<uint32_t> seen;
  ProtobufReader reader(bytes, where);
  while (const auto field = reader.next()) {
    if (field->number == 1) {
      model.pieces.push_back(read_piece(reader.inside(field->as_bytes(where)), model.pieces.size(), where));
      continue;
    }
    require<FormatError>(seen.insert(field->number).second, where, "field {} occurs twice", field->number);
    switch (field->number) {
      case 2:
        read_trainer(reader.inside(field->as_bytes(where)), model, where);
        break;
      case 3:
        read_normalizer(reader.inside(field->as_bytes(where)), model, where);
        break;
      case 5:
        check_denormalizer(reader.inside(field->as_bytes(where)), where);
        break;
      case kNoteNumber:
        model.note = field->as_bytes(where);
        model.note_begin = field->begin;
        break;
      default:
        break;
    }
  }
  require<FormatError>(!model.pieces.empty() && seen.contains(2) && seen.contains(3), where,
                       "expected a SentencePiece model; {} missing: the file is cut off, or of another kind",
                       model.pieces.empty() ? "its pieces are" : "its description is");
  check_user_symbols(model.pieces, where);
  return model;
}

}  // namespace heed
