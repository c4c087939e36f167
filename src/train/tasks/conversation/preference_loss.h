// The loss of preferences between answers (DPO, Rafailov et al. 2023).
#pragma once

#include <vector>

#include "parallel/shard.h"

namespace heed {

// Pairs of texts, the preferred one and then the other: sequences 2 i and 2 i + 1 of the batch.
struct PreferenceBatch {
  TokenBatch texts;
  std::vector<double> reference_margins;  // log p(preferred) - log p(other) of the model that the run began from

  int64_t pairs() const { return texts.tokens.segments().count() / 2; }
};

// log p of the preferred text minus that of the other, for each pair: over the tokens that are expected.
std::vector<double> log_probability_margins(const Pass& pass, const CausalLM& model, const Hidden& hidden,
                                            const PreferenceBatch& batch);

// -log sigmoid(m), m being beta (margin - reference margin).
double preference_loss_of(double reward_margin);

// A row for each pair. While recording, the gradients of the weights of the output are added at once, and that of the
// hidden states is set.
TokenLosses preference_loss(Pass& pass, const CausalLM& model, const Hidden& hidden, const PreferenceBatch& batch,
                            double beta);

class PreferenceShard final : public Shard {
 public:
  PreferenceShard(PreferenceBatch batch, double beta) : batch_(std::move(batch)), beta_(beta) {}

  int64_t targets() const override { return batch_.pairs(); }
  ShardTexts texts() const override { return {batch_.texts.tokens, batch_.texts.tokens}; }
  TokenLosses loss(Pass& pass, const AnyModel& model, Smoothing smoothing) const override {
    return loss_of_hidden(pass, model, model.causal_lm().hidden(pass, batch_.texts.tokens), smoothing);
  }
  TokenLosses loss_of_hidden(Pass& pass, const AnyModel& model, const Hidden& hidden,
                             Smoothing /*smoothing*/) const override {
    return preference_loss(pass, model.causal_lm(), hidden, batch_, beta_);
  }

 private:
  PreferenceBatch batch_;
  double beta_;
};

}  // namespace heed
