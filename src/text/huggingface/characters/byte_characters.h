// The byte-level alphabet of GPT-2: a character for each byte, so that any bytes are readable text. Printable bytes of
// Latin-1 are themselves, the others are the code points from 256 on.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace heed::huggingface {

char32_t character_of_byte(uint8_t byte);
std::optional<uint8_t> byte_of_character(char32_t c);

// The bytes that a text in this alphabet stands for; nullopt when one of its characters is not in it.
std::optional<std::string> bytes_from_characters(std::string_view text);
std::string characters_from_bytes(std::string_view bytes);

}  // namespace heed::huggingface
