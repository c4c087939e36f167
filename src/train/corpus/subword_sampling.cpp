#include "train/corpus/subword_sampling.h"

#include <utility>

namespace heed {

SubwordSampling::SubwordSampling(const TranslationRecipe& recipe, uint64_t seed,
                                 const TranslationTokenizers& tokenizers)
    : max_length_(static_cast<size_t>(recipe.data.max_length)),
      key_(RandomKey{seed}.derive("subwords")),
      source_(side_of(tokenizers.source, recipe.tokenizer.source_dropout)),
      target_(side_of(tokenizers.target, recipe.tokenizer.target_dropout)) {}

std::optional<SubwordSampling::Side> SubwordSampling::side_of(const Tokenizer& tokenizer, double left_out) {
  if (left_out == 0.0) {
    return std::nullopt;
  }
  return Side{SubwordDropout(tokenizer), Probability(static_cast<float>(left_out))};
}

PairChanges SubwordSampling::at(int64_t update) const {
  const RandomKey key = key_.derive(static_cast<uint64_t>(update));
  return {change(source_, key.derive("source")), change(target_, key.derive("target"))};
}

TokenChange SubwordSampling::change(const std::optional<Side>& side, RandomKey key) const {
  if (!side) {
    return {};
  }
  return [max_length = max_length_, &side = *side, key](int64_t sentence, std::vector<int32_t>& tokens) {
    const RandomKey own = key.derive(static_cast<uint64_t>(sentence));
    std::vector<int32_t> cut = side.dropout.recut(tokens, side.left_out, own);
    if (cut.size() <= max_length) {
      tokens = std::move(cut);
    }
  };
}

}  // namespace heed
