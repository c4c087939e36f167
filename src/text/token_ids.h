// Tokens as tokenizers give them, and as models take them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/strong.h"

namespace heed {

inline std::vector<int32_t> ids_of(std::span<const TokenId> tokens) {
  std::vector<int32_t> ids;
  ids.reserve(tokens.size());
  for (const TokenId token : tokens) {
    ids.push_back(token.value);
  }
  return ids;
}

inline std::vector<TokenId> tokens_of(std::span<const int32_t> ids) {
  std::vector<TokenId> tokens;
  tokens.reserve(ids.size());
  for (const int32_t id : ids) {
    tokens.emplace_back(id);
  }
  return tokens;
}

}  // namespace heed
