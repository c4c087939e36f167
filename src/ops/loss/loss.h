// Label-smoothed cross-entropy, fused with the output projection or from logits.
//   q = (1-s) onehot(y) + s/V      p = softmax(z)      loss = lse(z) - q.z      dloss/dz = p - q
#pragma once

#include "ops/attention/soft_cap.h"
#include "ops/divided_vocabulary.h"
#include "ops/roles.h"
#include "ops/rows/linear.h"

namespace heed {

// Each row's losses, f32 (f64 in the reference backend); ignored rows have none.
class TokenLosses {
 public:
  TokenLosses(Backend& backend, std::shared_ptr<const Tensor> losses, int64_t counted, int64_t vocabulary,
              Smoothing smoothing, double share_of_targets = 1.0)
      : backend_(&backend),
        losses_(std::move(losses)),
        counted_(counted),
        vocabulary_(vocabulary),
        smoothing_(smoothing),
        share_of_targets_(share_of_targets) {}

  int64_t rows() const { return losses_->shape()[0]; }
  int64_t counted() const { return counted_; }
  double smoothed(int64_t row) const { return at(row, 0); }  // the loss above
  double negative_log_likelihood(int64_t row) const { return at(row, 1); }

  // Sums over the counted rows, in order, in double.
  double total_smoothed() const { return total(0); }
  double total_negative_log_likelihood() const { return total(1); }
  // KL(q || p): the smoothed loss minus the entropy of q, which no model can get below. Where a teacher has a share of
  // the loss, that entropy counts for the rest.
  double total_divergence() const;

 private:
  double at(int64_t row, int64_t column) const;
  double total(int64_t column) const;
  ConstView on_host() const;

  Backend* backend_;
  // In the memory of the backend; once they have been read, in the host's.
  mutable std::shared_ptr<const Tensor> losses_;
  int64_t counted_, vocabulary_;
  Smoothing smoothing_;
  double share_of_targets_;
};

// Entropy of the smoothed target over a vocabulary, in nats.
double smoothed_target_entropy(int64_t vocabulary, Smoothing smoothing);

struct LogitsShape {
  int64_t rows, vocabulary;
};
// How many rows of the [tokens, vocabulary] logits are in memory at a time while recording. Depends only on the sizes.
int64_t rows_of_loss_block(const LogitsShape& logits, DType storage);

struct LossOptions {
  Smoothing smoothing{0.0F};
  SoftCapAt cap = {};
  DividedVocabulary divided = {};
  double weight = 1.0;  // of its gradients, beside those of other losses
};
// z = x W^T + b, a block of rows at a time. While recording, gradients are computed here already: those of the weights
// are added at once, times the tape's loss scale, and x's is saved for Tape::backward. Rows whose target is ignored are
// skipped. With a cap, the loss is that of cap * tanh(z / cap). Where ranks divide the vocabulary, `output` is this
// rank's rows, and all ranks get the losses over the whole and the whole gradient of x. In the pass of a teacher or a
// student (ops/loss/lesson.h), with a whole vocabulary: the lesson, or the loss against it.
TokenLosses output_loss(Pass& pass, const Hidden& x, LinearWeights output, const Targets& targets,
                        const LossOptions& options);
inline TokenLosses output_loss(Pass& pass, const Hidden& x, LinearWeights output, const Targets& targets,
                               Smoothing smoothing, SoftCapAt cap = {}) {
  return output_loss(pass, x, output, targets, {smoothing, cap, {}});
}
TokenLosses cross_entropy(Pass& pass, const Logits& logits, const Targets& targets, Smoothing smoothing);

// z = x W^T + b, or with a cap, cap * tanh(z / cap). When nothing is recorded it stays in the master type: rounding
// logits around 10 to bf16 would change log-probabilities by about 0.02.
Logits output_logits(Pass& pass, const Hidden& x, LinearWeights output, SoftCapAt cap = {});

// log p, for decoding; has no gradient.
LogProbs log_softmax(Pass& pass, const Logits& logits);

// Saves the gradient of the rows of x that are not ignored, in the storage type.
struct OutputLossOp {
  Var x;
  Tensor rows;  // empty: all of them
  Tensor d_x;   // may become the gradient of x

  void backward(Backend& backend);
};

struct CrossEntropyOp {
  Var logits;
  Tensor d_logits;  // becomes the gradient of the logits
  double scale;

  void backward(Backend& backend);
};

}  // namespace heed
