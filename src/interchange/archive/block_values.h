// The values of blocks in other programs' files.
#pragma once

#include <cstddef>
#include <cstdint>

#include "interchange/archive/foreign_type.h"

namespace heed {

// As many whole blocks as said, one after the other; the bytes are not aligned. With q an integer, as it is stored:
//   q4_0, q5_0   d (q - 8), d (q - 16)             d of 32 values in f16
//   q4_1, q5_1   d q + m                           d and m of 32 values in f16
//   q8_0         d q                               d of 32 values in f16, q signed
//   q4_k, q5_k   (d s) q - (dmin m)                d and dmin of 256 values in f16; s and m of 32 in 6 bits
//   q6_k         (d s) (q - 32)                    d of 256 values in f16; s of 16 in 8 bits
void read_blocks(ForeignType type, const std::byte* from, int64_t blocks, float* to);

// Blocks of q4_0 or q8_0 as a matrix of heed's: their integers and, apart from these, their scales, all as they are.
// Integers of q8_0 are bytes. Those of q4_0 have 8 added, and a byte of a block holds values j and j + 16; in a matrix
// it holds two neighbours.
void read_block_integers(ForeignType type, const std::byte* from, int64_t blocks, std::byte* to);
void read_block_scales(ForeignType type, const std::byte* from, int64_t blocks, std::byte* to);
// One block again.
void write_block(ForeignType type, const std::byte* scale, const std::byte* integers, std::byte* to);

}  // namespace heed
