#include "decode/scoring/target_log_probs.h"

#include <algorithm>
#include <cmath>

#include "decode/steppers/stepper.h"

namespace heed {
namespace {

TokenLosses loss_of(const AnyModel& model, Pass& pass, const PairBatch& batch) {
  return model.seq2seq().loss(pass, batch, Smoothing(0.0F));
}
TokenLosses loss_of(const AnyModel& model, Pass& pass, const TokenBatch& batch) {
  return model.causal_lm().loss(pass, batch, Smoothing(0.0F));
}

template <class Batch>
std::vector<double> log_probs_of_model(const Inference& one, const Batch& batch) {
  Pass pass = Pass::infer(one.backend, one.storage);
  const TokenLosses losses = loss_of(one.model, pass, batch);
  std::vector<double> log_probs;
  for (int64_t row = 0; row < losses.rows(); ++row) {
    log_probs.push_back(-losses.negative_log_likelihood(row));
  }
  return log_probs;
}

// log((e^a + e^b + ...) / K) of the K models' values at `row`.
double log_of_mean(const std::vector<std::vector<double>>& of_models, size_t row) {
  double largest = of_models.front()[row], sum = 0.0;
  for (const std::vector<double>& of_model : of_models) {
    largest = std::max(largest, of_model[row]);
  }
  for (const std::vector<double>& of_model : of_models) {
    sum += std::exp(of_model[row] - largest);
  }
  return std::isinf(largest) ? largest : largest + std::log(sum / static_cast<double>(of_models.size()));
}

template <class Batch>
std::vector<double> averaged(const Inference& inference, const Batch& batch) {
  std::vector<std::vector<double>> of_models;
  for (const Inference& member : inference.members()) {
    of_models.push_back(log_probs_of_model(member, batch));
  }
  if (of_models.size() == 1) {
    return of_models.front();
  }
  std::vector<double> mean;
  for (size_t row = 0; row < of_models.front().size(); ++row) {
    mean.push_back(log_of_mean(of_models, row));
  }
  return mean;
}

constexpr int64_t kStepRows = 256;  // so that few rows over the vocabulary are held at a time

bool rounds_keys_and_values(const Inference& inference) { return inference.cache_type() != inference.storage; }

// Through the cache, the rows of all sequences in order.
std::vector<double> through_cache(const Inference& inference, std::span<const std::vector<int32_t>> sources,
                                  const Sequences& inputs, const Targets& expected) {
  const std::unique_ptr<Stepper> stepper = make_stepper(inference);
  const std::vector<SequenceId> sequences = stepper->begin(sources);
  const Segments& segments = inputs.segments();
  const std::span<const int32_t> ids = inputs.tokens().ids();
  std::vector<double> log_probs;
  std::vector<NewTokens> new_tokens;
  int64_t s = 0;
  for (int64_t begin = 0; begin < inputs.rows();) {
    const int64_t step_end = std::min(inputs.rows(), begin + kStepRows);
    new_tokens.clear();
    for (int64_t row = begin; row < step_end; s += row == segments.end(s) ? 1 : 0) {
      const int64_t end = std::min(segments.end(s), step_end);
      if (row < end) {
        new_tokens.push_back({sequences[static_cast<size_t>(s)],
                              ids.subspan(static_cast<size_t>(row), static_cast<size_t>(end - row)), RowsWanted::all,
                              ScoresWanted::log_probs});
      }
      row = end;
    }
    const NextTokens next = stepper->next(new_tokens);
    for (int64_t row = begin; row < step_end; ++row) {
      const int32_t target = expected.ids()[static_cast<size_t>(row)];
      log_probs.push_back(target == Targets::kIgnored ? 0.0 : next.log_probs.row(row - begin)[target]);
    }
    begin = step_end;
  }
  return log_probs;
}

std::vector<std::vector<int32_t>> in_lists(const Sequences& sequences) {
  std::vector<std::vector<int32_t>> lists;
  for (int64_t s = 0; s < sequences.segments().count(); ++s) {
    const auto ids = sequences.tokens().ids().begin();
    lists.emplace_back(ids + sequences.segments().begin(s), ids + sequences.segments().end(s));
  }
  return lists;
}

}  // namespace

std::vector<double> log_probs_of_targets(const Inference& inference, const PairBatch& batch) {
  return rounds_keys_and_values(inference)
             ? through_cache(inference, in_lists(batch.source), batch.target, batch.expected)
             : averaged(inference, batch);
}

std::vector<double> log_probs_of_targets(const Inference& inference, const TokenBatch& batch) {
  if (!rounds_keys_and_values(inference)) {
    return averaged(inference, batch);
  }
  const std::vector<std::vector<int32_t>> none(static_cast<size_t>(batch.tokens.segments().count()));
  return through_cache(inference, none, batch.tokens, batch.expected);
}

}  // namespace heed
