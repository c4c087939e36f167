#include "decode/translation.h"

#include <algorithm>

#include "ops/loss.h"

namespace heed {

std::vector<std::vector<Hypothesis>> translate_tokens(const Inference& inference,
                                                      const std::vector<std::vector<int32_t>>& sources,
                                                      const TranslationOptions& options, const SearchRules& rules,
                                                      const Drafting* drafting, SourceVocabulary source) {
  validate(options);
  if (sources.empty()) {
    return {};
  }
  const auto stepper = make_stepper(inference, stepper_options(drafting));
  const std::vector<SequenceId> sequences = stepper->begin(sources);
  std::vector<SearchStart> starts;
  for (size_t i = 0; i < sources.size(); ++i) {
    const int64_t twice = 2 * static_cast<int64_t>(sources[i].size()) + 16;
    const int64_t max_length = options.max_length > 0 ? options.max_length : twice;
    starts.push_back({sequences[i], {&rules.bos, 1}, std::min(max_length, stepper->max_length()), sources[i]});
  }
  const SamplingOptions greedy{.temperature = 0.0};
  const auto speculation = make_speculation(drafting, inference, greedy, rules.suppressed, source);
  return search(*stepper, starts, options, rules, speculation.get());
}

std::vector<double> score_pairs(const Inference& inference, const TokenPairs& pairs, const SearchRules& rules) {
  const auto& [sources, targets] = pairs;
  require(sources.size() == targets.size(), "score", "{} sources for {} targets", sources.size(), targets.size());
  std::vector<std::vector<int32_t>> inputs;
  std::vector<int32_t> expected;
  for (const std::vector<int32_t>& target : targets) {
    inputs.push_back({rules.bos});
    inputs.back().insert(inputs.back().end(), target.begin(), target.end());
    expected.insert(expected.end(), target.begin(), target.end());
    expected.push_back(rules.eos);
  }
  const PairBatch batch{SourceSequences(sources), TargetSequences(inputs), Targets(std::move(expected))};
  Pass pass = Pass::infer(inference.backend, inference.storage);
  const TokenLosses losses = inference.model.seq2seq().loss(pass, batch, Smoothing(0.0F));
  std::vector<double> scores;
  const Segments& segments = batch.target.segments();
  for (int64_t s = 0; s < segments.count(); ++s) {
    double sum = 0.0;
    for (int64_t row = segments.begin(s); row < segments.end(s); ++row) {
      sum -= losses.negative_log_likelihood(row);
    }
    scores.push_back(sum);
  }
  return scores;
}

}  // namespace heed
