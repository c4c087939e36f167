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

// Blocks of q4_0 as a four-bit matrix of heed's: the 16 bytes of a block, each with two neighbouring values, stored
// with 8 added; and the scale d, rounded to bf16.
void read_q4_0_integers(const std::byte* from, int64_t blocks, std::byte* to);
void read_q4_0_scales(const std::byte* from, int64_t blocks, std::byte* to);
// Blocks of q8_0 as a matrix of bytes in groups: the 32 integers of a block, and its scale, as they are.
void read_q8_0_integers(const std::byte* from, int64_t blocks, std::byte* to);
void read_q8_0_scales(const std::byte* from, int64_t blocks, std::byte* to);

}  // namespace heed
