#include "nn/bigrams.h"

namespace heed {

int32_t bigram_row(int32_t previous, int32_t token, int64_t vocabulary, int64_t rows) {
  const int64_t pair = (static_cast<int64_t>(previous) - Sequences::kNothingBefore) * vocabulary + token;
  if (rows >= vocabulary * (vocabulary + 1)) {
    return static_cast<int32_t>(pair);
  }
  // Multiplication by 2^64 over the golden ratio leaves the upper bits well mixed, whose share of 2^32 is that of rows.
  const uint64_t hash = static_cast<uint64_t>(pair) * 0x9e3779b97f4a7c15U >> 32U;
  return static_cast<int32_t>(hash * static_cast<uint64_t>(rows) >> 32U);
}

std::vector<int32_t> bigram_rows(const Sequences& sequences, int64_t vocabulary, int64_t rows) {
  std::vector<int32_t> found = sequences.previous_tokens();
  const std::span<const int32_t> tokens = sequences.tokens().ids();
  for (size_t i = 0; i < found.size(); ++i) {
    found[i] = bigram_row(found[i], tokens[i], vocabulary, rows);
  }
  return found;
}

}  // namespace heed
