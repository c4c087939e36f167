#include "base/text/base64.h"

#include <cstdint>

#include "base/errors.h"

namespace heed {
namespace {

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string decode_base64(std::string_view text, std::string_view where) {
  size_t padding = 0;
  while (padding < 2 && text.ends_with('=')) {
    text.remove_suffix(1);
    ++padding;
  }
  require<FormatError>((text.size() + padding) % 4 == 0 && text.size() % 4 != 1, where, "not base64: {} digits",
                       text.size());
  std::string bytes;
  bytes.reserve(text.size() * 3 / 4);
  uint32_t bits = 0, count = 0;
  for (const char c : text) {
    const size_t digit = kDigits.find(c);
    require<FormatError>(digit != std::string_view::npos, where, "not base64: the character with code {}",
                         static_cast<unsigned char>(c));
    bits = bits << 6U | static_cast<uint32_t>(digit);
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes.push_back(static_cast<char>(bits >> count & 0xffU));
    }
  }
  return bytes;
}

std::string encode_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t at = 0; at < bytes.size(); at += 3) {
    uint32_t bits = 0;
    for (size_t i = 0; i < 3; ++i) {
      bits = bits << 8U | (at + i < bytes.size() ? static_cast<unsigned char>(bytes[at + i]) : 0U);
    }
    for (size_t i = 0; i < 4; ++i) {
      text.push_back(at + i <= bytes.size() ? kDigits[bits >> (18 - 6 * i) & 63U] : '=');
    }
  }
  return text;
}

}  // namespace heed
