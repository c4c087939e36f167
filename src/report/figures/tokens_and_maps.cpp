#include "report/figures/tokens_and_maps.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace heed {

std::vector<std::string> pieces_of(const Tokenizer& tokenizer, const std::vector<int32_t>& ids) {
  std::vector<std::string> pieces;
  std::ranges::transform(ids, std::back_inserter(pieces),
                         [&](int32_t id) { return std::string(tokenizer.piece(TokenId(id))); });
  return pieces;
}

std::string in_255ths(const std::vector<Tensor>& layers) {
  std::string bytes;
  for (const Tensor& layer : layers) {
    if (layer.empty()) {
      continue;
    }
    const float* const weights = layer.data<float>();
    for (int64_t i = 0; i < layer.elements(); ++i) {
      bytes.push_back(static_cast<char>(std::lround(255.0F * std::clamp(weights[i], 0.0F, 1.0F))));
    }
  }
  return bytes;
}

}  // namespace heed
