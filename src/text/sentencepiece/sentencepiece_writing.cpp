#include "text/sentencepiece/sentencepiece_writing.h"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "text/sentencepiece/protobuf.h"

namespace heed {
namespace {

using FieldWire = ProtobufField::Wire;
using WrittenPiece = SentencePieceModel::Piece;
using WrittenType = SentencePieceModel::PieceType;

// Fields one after the other.
class ProtobufWriter {
 public:
  void number(uint32_t field, uint64_t value) {
    tag(field, FieldWire::number);
    varint(value);
  }
  // A number that may be below zero takes ten bytes then.
  void integer(uint32_t field, int64_t value) { number(field, static_cast<uint64_t>(value)); }
  void bytes(uint32_t field, std::string_view value) {
    tag(field, FieldWire::bytes);
    varint(value.size());
    text_.append(value);
  }
  void real(uint32_t field, float value) {
    tag(field, FieldWire::fixed32);
    const auto bits = std::bit_cast<uint32_t>(value);
    for (uint32_t shift = 0; shift < 32; shift += 8) {
      text_ += static_cast<char>(bits >> shift & 0xffU);
    }
  }
  const std::string& text() const { return text_; }

 private:
  void tag(uint32_t field, FieldWire wire) { varint(uint64_t{field} << 3U | static_cast<uint64_t>(wire)); }
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7U) {
      text_ += static_cast<char>((value & 0x7fU) | 0x80U);
    }
    text_ += static_cast<char>(value);
  }

  std::string text_;
};

// The id of a special piece; -1: there is none.
int64_t id_of(const SentencePieceModel& model, WrittenType type, std::string_view text) {
  const auto found = std::ranges::find_if(model.pieces, [&](const WrittenPiece& piece) {
    return piece.type == type && (text.empty() || piece.text == text);
  });
  return found == model.pieces.end() ? -1 : found - model.pieces.begin();
}

std::string trainer_of(const SentencePieceModel& model) {
  const auto spells_bytes = std::ranges::count(model.pieces, WrittenType::byte, &WrittenPiece::type) > 0;
  ProtobufWriter trainer;
  trainer.number(3, static_cast<uint64_t>(model.type));
  trainer.number(4, model.pieces.size());
  trainer.number(24, model.spaces.as_suffix ? 1 : 0);
  trainer.number(35, spells_bytes ? 1 : 0);
  trainer.integer(40, id_of(model, WrittenType::unknown, ""));
  trainer.integer(41, id_of(model, WrittenType::control, "<s>"));
  trainer.integer(42, id_of(model, WrittenType::control, "</s>"));
  trainer.integer(43, id_of(model, WrittenType::control, "<pad>"));
  const int64_t unknown = id_of(model, WrittenType::unknown, "");
  trainer.bytes(45, unknown < 0 ? "<unk>" : model.pieces[static_cast<size_t>(unknown)].text);
  return trainer.text();
}

std::string normalizer_of(const SentencePieceModel& model) {
  ProtobufWriter normalizer;
  normalizer.bytes(1, model.normalizer.empty() ? "user_defined" : model.normalizer);
  normalizer.bytes(2, model.character_map);
  normalizer.number(3, model.spaces.prefixed ? 1 : 0);
  normalizer.number(4, model.spaces.trimmed ? 1 : 0);
  normalizer.number(5, model.spaces.escaped ? 1 : 0);
  return normalizer.text();
}

}  // namespace

std::string write_sentencepiece_model(const SentencePieceModel& model) {
  ProtobufWriter file;
  for (const WrittenPiece& piece : model.pieces) {
    ProtobufWriter one;
    one.bytes(1, piece.text);
    one.real(2, piece.score);
    one.number(3, static_cast<uint64_t>(piece.type));
    file.bytes(1, one.text());
  }
  file.bytes(2, trainer_of(model));
  file.bytes(3, normalizer_of(model));
  return file.text();
}

}  // namespace heed
