// With c the log-probability of the preferred text, r that of the other, and m0 = c - r of the model of the beginning,
//   m = beta (c - r - m0)    loss = -log sigmoid(m) = log(1 + e^-m)
//   dloss/dc = -beta sigmoid(-m) = -dloss/dr
// c is minus the sum of its tokens' cross-entropies, so that each text's tokens share one factor of their gradient:
// beta sigmoid(-m) for the preferred one, the same with a minus for the other. It is known once the losses are, for
// which the hidden states meet the vocabulary twice. Each text has a tape of its own, whose scale is that factor.
#include "train/tasks/conversation/preference_loss.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>

#include "ops/tape.h"

namespace heed {
namespace {

double log_of_one_plus_exp(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }
double sigmoid(double x) { return x >= 0.0 ? 1.0 / (1.0 + std::exp(-x)) : std::exp(x) / (1.0 + std::exp(x)); }

// The targets of one of the texts; the others' are ignored.
Targets targets_of(const TokenBatch& texts, int64_t text) {
  const Segments& segments = texts.tokens.segments();
  std::vector<int32_t> expected(static_cast<size_t>(texts.tokens.rows()), Targets::kIgnored);
  const auto own = texts.expected.ids().subspan(static_cast<size_t>(segments.begin(text)),
                                                static_cast<size_t>(segments.end(text) - segments.begin(text)));
  std::ranges::copy(own, expected.begin() + segments.begin(text));
  return Targets(std::move(expected));
}

}  // namespace

std::vector<double> log_probability_margins(const Pass& pass, const CausalLM& model, const Hidden& hidden,
                                            const PreferenceBatch& batch) {
  Pass unrecorded = pass.unrecorded();
  const TokenLosses losses = model.loss(unrecorded, hidden, batch.texts.expected, Smoothing(0.0F));
  const Segments& segments = batch.texts.tokens.segments();
  std::vector<double> margins(static_cast<size_t>(batch.pairs()));
  for (int64_t text = 0; text < segments.count(); ++text) {
    double log_probability = 0.0;
    for (int64_t row = segments.begin(text); row < segments.end(text); ++row) {
      log_probability -= losses.negative_log_likelihood(row);
    }
    margins[static_cast<size_t>(text / 2)] += text % 2 == 0 ? log_probability : -log_probability;
  }
  return margins;
}

double preference_loss_of(double reward_margin) { return log_of_one_plus_exp(-reward_margin); }

TokenLosses preference_loss(Pass& pass, const CausalLM& model, const Hidden& hidden, const PreferenceBatch& batch,
                            double beta) {
  std::vector<double> rewards = log_probability_margins(pass, model, hidden, batch);
  for (size_t pair = 0; pair < rewards.size(); ++pair) {
    rewards[pair] = beta * (rewards[pair] - batch.reference_margins[pair]);
  }
  auto losses = std::make_shared<Tensor>(Shape{batch.pairs(), 2}, DType::f64);
  for (int64_t pair = 0; pair < batch.pairs(); ++pair) {
    const double loss = preference_loss_of(rewards[static_cast<size_t>(pair)]);
    host<double>(losses->view())(pair, 0) = host<double>(losses->view())(pair, 1) = loss;
  }
  for (int64_t text = 0; pass.recording() && text < 2 * batch.pairs(); ++text) {
    const double factor = beta * sigmoid(-rewards[static_cast<size_t>(text / 2)]);
    Tape own(pass.tape().loss_scale() * (text % 2 == 0 ? factor : -factor));
    Pass recorded = pass.recorded_on(own);
    model.loss(recorded, hidden, targets_of(batch.texts, text), Smoothing(0.0F));
    own.backward(pass.backend());
  }
  return {pass.backend(), std::move(losses), batch.pairs(), 1, Smoothing(0.0F)};
}

}  // namespace heed
