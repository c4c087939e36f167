#include "text/huggingface/characters/byte_characters.h"

#include "text/huggingface/characters/characters.h"

namespace heed::huggingface {
namespace {

constexpr bool stands_for_itself(uint32_t byte) {
  return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

constexpr std::array<char32_t, 256> make_byte_characters() {
  std::array<char32_t, 256> characters{};
  char32_t next = 256;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    characters[byte] = stands_for_itself(byte) ? byte : next++;
  }
  return characters;
}

constexpr std::array<char32_t, 256> kByteCharacters = make_byte_characters();
constexpr char32_t kCharacterEnd = kByteCharacters[0xad] + 1;

constexpr std::array<int16_t, kCharacterEnd> make_character_bytes() {
  std::array<int16_t, kCharacterEnd> bytes{};
  bytes.fill(-1);
  for (int16_t byte = 0; byte < 256; ++byte) {
    bytes[kByteCharacters[static_cast<size_t>(byte)]] = byte;
  }
  return bytes;
}

constexpr std::array<int16_t, kCharacterEnd> kCharacterBytes = make_character_bytes();

}  // namespace

char32_t character_of_byte(uint8_t byte) { return kByteCharacters[byte]; }

std::optional<uint8_t> byte_of_character(char32_t c) {
  if (c >= kCharacterEnd || kCharacterBytes[c] < 0) {
    return std::nullopt;
  }
  return static_cast<uint8_t>(kCharacterBytes[c]);
}

std::optional<std::string> bytes_from_characters(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const auto [value, size] = decode_character(text.data() + at);
    const std::optional<uint8_t> byte = byte_of_character(value);
    if (!byte) {
      return std::nullopt;
    }
    bytes.push_back(static_cast<char>(*byte));
    at += size;
  }
  return bytes;
}

std::string characters_from_bytes(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const char byte : bytes) {
    append_character(text, character_of_byte(static_cast<uint8_t>(byte)));
  }
  return text;
}

}  // namespace heed::huggingface
