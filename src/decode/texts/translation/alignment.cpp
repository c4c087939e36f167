#include "decode/texts/translation/alignment.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <span>
#include <utility>

#include "ops/rows/select_rows.h"

namespace heed {
namespace {

constexpr size_t kBatchPairs = 32;        // bounds the attention maps
constexpr double kLeastAttention = 1e-9;  // less counts as this much

// How much the prediction of each target token attends to each source token.
using Attended = std::vector<std::vector<double>>;

// The weights of one query, averaged over heads, for the first `positions`.
std::vector<double> attended(std::span<const float> weights, int64_t heads, int64_t queries, int64_t keys,
                             int64_t query, int64_t positions) {
  std::vector<double> mean;
  mean.reserve(static_cast<size_t>(positions));
  for (int64_t key = 0; key < positions; ++key) {
    double sum = 0.0;
    for (int64_t head = 0; head < heads; ++head) {
      sum += static_cast<double>(weights[static_cast<size_t>((head * queries + query) * keys + key)]);
    }
    mean.push_back(sum / static_cast<double>(heads));
  }
  return mean;
}

using TokenLists = std::vector<std::vector<int32_t>>;

// Each source's encoder output. Translations of one source are neighbours, and it is encoded once.
Hidden encoded(Pass& pass, const Seq2Seq& model, const TokenLists& sources) {
  TokenLists different;
  std::vector<int32_t> rows;  // of what is encoded, for each row of the sources
  int32_t begin = 0, end = 0;
  for (const std::vector<int32_t>& source : sources) {
    if (different.empty() || source != different.back()) {
      different.push_back(source);
      begin = std::exchange(end, end + static_cast<int32_t>(source.size()));
    }
    rows.resize(rows.size() + source.size());
    std::iota(rows.end() - std::ssize(source), rows.end(), begin);
  }
  const SourceSequences read(different);
  const Hidden hidden = model.encode(pass, read).hidden;
  return different.size() == sources.size() ? hidden : Hidden(select_rows(pass, hidden.var(), rows));
}

std::vector<Attended> attended_by_model(const Inference& one, const TokenLists& sources, const TokenLists& inputs) {
  std::vector<Attended> found;
  const int64_t heads = one.model.config().heads;
  Pass pass = Pass::infer(one.backend, one.storage);
  const SourceSequences source(sources);
  const TargetSequences target(inputs);
  AttentionMaps maps;
  const Seq2Seq& model = one.model.seq2seq();
  model.decode(pass, target, {encoded(pass, model, sources), &source.segments()}, {.maps = &maps});
  Tensor weights(maps.cross.back().shape(), DType::f32);
  one.backend.copy(maps.cross.back().view(), weights.view());
  std::span<const float> rest(weights.data<float>(), static_cast<size_t>(weights.shape().elements()));
  for (size_t s = 0; s < sources.size(); ++s) {
    const auto keys = static_cast<int64_t>(sources[s].size()), queries = static_cast<int64_t>(inputs[s].size());
    Attended& of_pair = found.emplace_back();
    // The last input predicts the end.
    for (int64_t query = 0; query + 1 < queries; ++query) {
      of_pair.push_back(attended(rest, heads, queries, keys, query, keys - 1));
    }
    rest = rest.subspan(static_cast<size_t>(heads * queries * keys));
  }
  return found;
}

// into += share * (from - into), which is of the same shape.
void move_towards(const std::vector<Attended>& from, double share, std::vector<Attended>& into) {
  for (size_t pair = 0; pair < from.size(); ++pair) {
    for (size_t token = 0; token < from[pair].size(); ++token) {
      for (size_t source = 0; source < from[pair][token].size(); ++source) {
        double& mean = into[pair][token][source];
        mean += share * (from[pair][token][source] - mean);
      }
    }
  }
}

// The mean of all models.
std::vector<Attended> attended_by_models(const Inference& inference, const TokenLists& sources,
                                         const TokenLists& inputs) {
  std::vector<Attended> mean;
  double models = 0.0;
  for (const Inference& member : inference.members()) {
    std::vector<Attended> of_member = attended_by_model(member, sources, inputs);
    models += 1.0;
    if (mean.empty()) {
      mean = std::move(of_member);
    } else {
      move_towards(of_member, 1.0 / models, mean);
    }
  }
  return mean;
}

std::vector<Attended> attended_by_pairs(const Inference& inference, const TokenPairs& pairs, const SearchRules& rules) {
  const auto& [sources, targets] = pairs;
  require(sources.size() == targets.size(), "align", "{} sources for {} targets", sources.size(), targets.size());
  std::vector<Attended> found;
  for (size_t begin = 0; begin < sources.size(); begin += kBatchPairs) {
    TokenLists batch_sources, batch_inputs;
    for (size_t i = begin; i < std::min(begin + kBatchPairs, sources.size()); ++i) {
      require(sources[i].size() >= 2, "align", "source {} has no tokens but its end", i);
      batch_sources.push_back(sources[i]);
      batch_inputs.push_back({rules.bos});
      batch_inputs.back().insert(batch_inputs.back().end(), targets[i].begin(), targets[i].end());
    }
    std::ranges::move(attended_by_models(inference, batch_sources, batch_inputs), std::back_inserter(found));
  }
  return found;
}

}  // namespace

std::vector<std::vector<int64_t>> align_pairs(const Inference& inference, const TokenPairs& pairs,
                                              const SearchRules& rules) {
  std::vector<std::vector<int64_t>> aligned;
  for (const Attended& of_pair : attended_by_pairs(inference, pairs, rules)) {
    std::vector<int64_t>& positions = aligned.emplace_back();
    for (const std::vector<double>& of_token : of_pair) {
      positions.push_back(std::ranges::max_element(of_token) - of_token.begin());
    }
  }
  return aligned;
}

std::vector<double> coverage_of_pairs(const Inference& inference, const TokenPairs& pairs, const SearchRules& rules) {
  std::vector<double> coverage;
  for (const Attended& of_pair : attended_by_pairs(inference, pairs, rules)) {
    const size_t source_tokens = pairs.sources[coverage.size()].size() - 1;
    double sum = 0.0;
    for (size_t i = 0; i < source_tokens; ++i) {
      double attention = 0.0;
      for (const std::vector<double>& of_token : of_pair) {
        attention += of_token[i];
      }
      sum += std::log(std::clamp(attention, kLeastAttention, 1.0));
    }
    coverage.push_back(sum);
  }
  return coverage;
}

}  // namespace heed
