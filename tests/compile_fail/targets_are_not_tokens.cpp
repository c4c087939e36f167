// Ignored targets are not tokens that an embedding could look up.
#include "ops/rows/embedding.h"

using namespace heed;

Var good(Pass& pass, const Tokens& tokens, std::span<const int32_t> positions, const Weight& table) {
  return embedding(pass, tokens, positions, 0, table, {}, {});
}

#ifdef HEED_BAD
// expect-error: invalid initialization of reference of type 'const heed::Tokens
Var bad(Pass& pass, const Targets& targets, std::span<const int32_t> positions, const Weight& table) {
  return embedding(pass, targets, positions, 0, table, {}, {});
}
#endif
