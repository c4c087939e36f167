// Decoders that begin with a vector of zeros in place of a token's embedding.
#pragma once

#include <string>

#include "interchange/archive/tensor_archive.h"

namespace heed {

struct ZeroTokenNames {
  std::string table;       // a row for each token
  std::string bias;        // of the logits; one that is not there is made
  std::string projection;  // that is not the table; empty: there is none
};

// heed begins with a token: this adds one, whose row in the table is zero, and whose bias is so low that it is never
// written. Copies the table, and returns the token's number.
int64_t add_zero_token(TensorArchive& archive, const ZeroTokenNames& names);

}  // namespace heed
