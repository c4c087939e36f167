#include "decode/alignment.h"

#include <algorithm>
#include <span>

namespace heed {
namespace {

constexpr size_t kBatchPairs = 32;  // bounds the attention maps

// The position with the largest weight of one query, averaged over heads, among the first `positions`.
int64_t max_attended(std::span<const float> weights, int64_t heads, int64_t queries, int64_t keys, int64_t query,
                     int64_t positions) {
  int64_t best = 0;
  double largest = -1.0;
  for (int64_t key = 0; key < positions; ++key) {
    double sum = 0.0;
    for (int64_t head = 0; head < heads; ++head) {
      sum += static_cast<double>(weights[static_cast<size_t>((head * queries + query) * keys + key)]);
    }
    if (sum > largest) {
      largest = sum;
      best = key;
    }
  }
  return best;
}

using TokenLists = std::vector<std::vector<int32_t>>;

void align_batch(const Inference& inference, const TokenLists& sources, const TokenLists& inputs,
                 std::vector<std::vector<int64_t>>& aligned) {
  Pass pass = Pass::infer(inference.backend, inference.storage);
  const SourceSequences source(sources);
  const TargetSequences target(inputs);
  AttentionMaps maps;
  const Seq2Seq& model = inference.model.seq2seq();
  model.decode(pass, target, model.encode(pass, source), {.maps = &maps});
  Tensor weights(maps.cross.back().shape(), DType::f32);
  inference.backend.copy(maps.cross.back().view(), weights.view());
  std::span<const float> rest(weights.data<float>(), static_cast<size_t>(weights.shape().elements()));
  for (size_t s = 0; s < sources.size(); ++s) {
    const auto keys = static_cast<int64_t>(sources[s].size()), queries = static_cast<int64_t>(inputs[s].size());
    std::vector<int64_t>& positions = aligned.emplace_back();
    // The last input predicts the end, which aligns with nothing.
    for (int64_t query = 0; query + 1 < queries; ++query) {
      positions.push_back(max_attended(rest, inference.model.config().heads, queries, keys, query, keys - 1));
    }
    rest = rest.subspan(static_cast<size_t>(inference.model.config().heads * queries * keys));
  }
}

}  // namespace

std::vector<std::vector<int64_t>> align_pairs(const Inference& inference, const TokenPairs& pairs,
                                              const SearchRules& rules) {
  const auto& [sources, targets] = pairs;
  require(sources.size() == targets.size(), "align", "{} sources for {} targets", sources.size(), targets.size());
  std::vector<std::vector<int64_t>> aligned;
  for (size_t begin = 0; begin < sources.size(); begin += kBatchPairs) {
    TokenLists batch_sources, batch_inputs;
    for (size_t i = begin; i < std::min(begin + kBatchPairs, sources.size()); ++i) {
      require(sources[i].size() >= 2, "align", "source {} has no tokens but its end", i);
      batch_sources.push_back(sources[i]);
      batch_inputs.push_back({rules.bos});
      batch_inputs.back().insert(batch_inputs.back().end(), targets[i].begin(), targets[i].end());
    }
    align_batch(inference, batch_sources, batch_inputs, aligned);
  }
  return aligned;
}

}  // namespace heed
