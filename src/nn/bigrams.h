// Rows of a table that pairs of neighboring tokens share.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/sequences.h"

namespace heed {

// The row of a pair: its number among all pairs, of which those without a token before come first, where the table has a
// row for each; else one that a hash of that number draws, so that pairs share rows.
int32_t bigram_row(int32_t previous, int32_t token, int64_t vocabulary, int64_t rows);

// The rows of each token and the one before it.
std::vector<int32_t> bigram_rows(const Sequences& sequences, int64_t vocabulary, int64_t rows);

}  // namespace heed
