#include "data/lines/line_chunks.h"

#include <cstring>

#include "base/errors.h"

namespace heed {

std::string pack_tokens(std::span<const std::vector<TokenId>> lists) {
  std::string bytes;
  for (const std::vector<TokenId>& list : lists) {
    const auto size = static_cast<uint32_t>(list.size());
    bytes.append(reinterpret_cast<const char*>(&size), sizeof size);
    bytes.append(reinterpret_cast<const char*>(list.data()), list.size() * sizeof(TokenId));
  }
  return bytes;
}

void unpack_tokens(std::string_view& bytes, std::span<std::vector<TokenId>> lists) {
  for (std::vector<TokenId>& list : lists) {
    uint32_t size = 0;
    ensure(bytes.size() >= sizeof size, "tokens", "a list is missing");
    std::memcpy(&size, bytes.data(), sizeof size);
    bytes.remove_prefix(sizeof size);
    ensure(bytes.size() >= size * sizeof(TokenId), "tokens", "{} bytes for {} tokens", bytes.size(), size);
    list.resize(size);
    if (size > 0) {
      std::memcpy(list.data(), bytes.data(), size * sizeof(TokenId));
    }
    bytes.remove_prefix(size * sizeof(TokenId));
  }
}

}  // namespace heed
