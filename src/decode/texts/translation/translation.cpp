#include "decode/texts/translation/translation.h"

#include <algorithm>
#include <deque>

#include "decode/scheduling/request_batch.h"
#include "decode/scoring/target_log_probs.h"
#include "ops/loss/loss.h"

namespace heed {

int64_t max_target_length(const TranslationOptions& options, const LengthsOfInput& lengths,
                          int64_t max_length_of_model) {
  const auto of_input = static_cast<int64_t>(std::max(2 * lengths.source, lengths.prefix + lengths.forced));
  const int64_t ample = std::max(of_input, options.rules.min_length) + 16;
  return std::min(options.max_length > 0 ? options.max_length : ample, max_length_of_model);
}

std::vector<std::vector<Hypothesis>> translate_tokens(const Inference& inference,
                                                      const std::vector<std::vector<int32_t>>& sources,
                                                      const TranslationOptions& options, const SearchRules& rules,
                                                      std::span<const std::vector<int32_t>> candidates) {
  validate(options);
  require(candidates.empty() || candidates.size() == sources.size(), "translation",
          "{} lists of candidates for {} sources", candidates.size(), sources.size());
  const Sampler greedy({.temperature = 0.0}, rules.tokens);
  const auto stepper = make_stepper(inference);
  std::deque<SearchRequest> searches;
  std::vector<Request*> requests;
  for (size_t i = 0; i < sources.size(); ++i) {
    const std::vector<int32_t>& source = sources[i];
    SearchTask task{source, {&rules.bos, 1}, max_target_length(options, {source.size()}, stepper->max_length())};
    if (!candidates.empty()) {
      task.candidates = candidates[i];
    }
    requests.push_back(&searches.emplace_back(task, options, rules, greedy));
  }
  run_together(*stepper, requests);
  std::vector<std::vector<Hypothesis>> results;
  results.reserve(searches.size());
  for (SearchRequest& search : searches) {
    results.push_back(search.results());
  }
  return results;
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
    expected.push_back(rules.tokens.eos);
  }
  const PairBatch batch{SourceSequences(sources), TargetSequences(inputs), Targets(std::move(expected))};
  const std::vector<double> log_probs = log_probs_of_targets(inference, batch);
  std::vector<double> scores;
  const Segments& segments = batch.target.segments();
  for (int64_t s = 0; s < segments.count(); ++s) {
    double sum = 0.0;
    for (int64_t row = segments.begin(s) + rules.certain; row < segments.end(s); ++row) {
      sum += log_probs[static_cast<size_t>(row)];
    }
    scores.push_back(sum);
  }
  return scores;
}

}  // namespace heed
