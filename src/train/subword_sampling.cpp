#include "train/subword_sampling.h"

#include <utility>

namespace heed {

SubwordSampling::SubwordSampling(const Recipe& recipe, const TokenizerPair& tokenizers)
    : left_out_(static_cast<float>(recipe.tokenizer.dropout)),
      longest_(static_cast<size_t>(recipe.data.longest)),
      key_(RandomKey{static_cast<uint64_t>(recipe.training.seed)}.derive("subwords")),
      source_(*tokenizers.source),
      target_(*tokenizers.target) {}

PairChanges SubwordSampling::at(int64_t update) const {
  const RandomKey key = key_.derive(static_cast<uint64_t>(update));
  return {change(source_, key.derive("source")), change(target_, key.derive("target"))};
}

TokenChange SubwordSampling::change(const SubwordDropout& dropout, RandomKey key) const {
  return [this, &dropout, key](int64_t sentence, std::vector<int32_t>& tokens) {
    std::vector<int32_t> cut = dropout.recut(tokens, left_out_, key.derive(static_cast<uint64_t>(sentence)));
    if (cut.size() <= longest_) {
      tokens = std::move(cut);
    }
  };
}

}  // namespace heed
