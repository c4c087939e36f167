// Tokens and attention maps in the form that a page uses.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensor/tensor.h"
#include "text/tokenizer.h"

namespace heed {

std::vector<std::string> pieces_of(const Tokenizer& tokenizer, const std::vector<int32_t>& ids);

// Weights in 255ths, one byte each, layer after layer; layers without a map are left out.
std::string in_255ths(const std::vector<Tensor>& layers);

}  // namespace heed
