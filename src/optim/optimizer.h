// Adam, AdamW and Muon over a model's weights.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/calls/optimizer.h"
#include "nn/weights/adapters.h"
#include "nn/weights/trainables.h"
#include "optim/muon.h"
#include "optim/slice_owners.h"

namespace heed {

// Muon updates the matrices of hidden layers (is_hidden_matrix); AdamW updates embeddings, the output projection and
// vectors.
enum class OptimizerKind : uint8_t { adam, adamw, muon };

// What weight decay shrinks: matrices, embeddings among them, but not gains and biases; or all weights.
enum class DecayedWeights : uint8_t { matrices, all };

// Whether decoupled decay shrinks only weights that the update shrinks as well.
enum class CautiousDecay : uint8_t { no, yes };

struct OptimizerConfig {
  OptimizerKind kind = OptimizerKind::adamw;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double momentum = 0.95;                               // of Muon
  int64_t orthogonalization = kOrthogonalizationSteps;  // steps, of Muon
  double row_moments = 0.0;                             // of Muon: what an update keeps of them; 0: there are none
  double weight_decay = 0.01;
  DecayedWeights decay = DecayedWeights::all;
  CautiousDecay cautious_decay = CautiousDecay::no;
  double max_norm = 1.0;  // of all gradients together; 0: no clipping

  // Throws ConfigError, with a message that a user can act on.
  void validate() const;
};

// Owns the moments. An update changes nothing when the gradients' norm is not finite, so the host need not wait for the
// norm before it goes on.
//
// Adam is one sweep: clip, step, update of the storage copies. For a matrix W that Muon updates, with clipped gradient
// g,
//   m = momentum m + g    O = orthogonal(g + momentum m)    W -= rate (0.2 sqrt(max(out, in)) O + decay W)
// where the factor scales O to the size of an Adam step, so that one learning rate serves both. Matrices that are
// stacked in one weight are orthogonalized separately.
class Optimizer {
 public:
  // Updates everything.
  Optimizer(Backend& backend, Trainables& trainables, const OptimizerConfig& config)
      : Optimizer(backend, trainables, config, SliceOwners(trainables)) {}
  // Updates what this rank owns.
  Optimizer(Backend& backend, Trainables& trainables, const OptimizerConfig& config, SliceOwners owners);
  // As an optimizer of this kind needs them: Muon takes whole matrices.
  static SliceOwners divide(const Trainables& trainables, const OptimizerConfig& config, RankOf own,
                            const SliceOwners::Holders& holders = {});

  // Measures the gradients that this rank owns; the others' norms come from them.
  void measure(Backend& backend);
  View squared_norms() const { return squared_norms_.view(); }  // of all slices: f64 [1, slices]
  // Updates this rank's slices, once the norms of all slices are known.
  void step(Backend& backend, double learning_rate);
  // Where one rank owns everything.
  void update(Backend& backend, double learning_rate);

  const SliceOwners& owners() const { return owners_; }

  // What an interrupted run has to save besides the masters.
  struct State {
    View first_moments, second_moments, applied;
  };
  State state() const { return {first_moments_.view(), second_moments_.view(), applied_.view()}; }

  // Gives the memory of the others' moments back.
  void discard_others();
  // What the moments take on this rank, and the masters where layers read copies of them.
  int64_t resident_bytes() const;

  int64_t updates() const;       // those that changed something
  double gradient_norm() const;  // of the last update, before clipping

 private:
  // A matrix that Muon updates, perhaps one of several in a weight; `first` is its position in the flat memory.
  struct Matrix {
    int64_t first, rows, columns;
  };

  void split_weights();
  double on_host(const Tensor& scalar) const;
  bool is_of_muon(const Weight& weight) const;
  WeightDecay decay_kind() const;
  void leave_to_muon(const Weight& weight, int64_t parts, int64_t first);
  void leave_to_adam(const ElementRange& range);
  void sum_norms(Backend& backend);
  void adam(Backend& backend, double learning_rate);
  void muon(Backend& backend, double learning_rate);
  void muon(Backend& backend, const Matrix& matrix, double learning_rate);

  Trainables& trainables_;
  OptimizerConfig config_;
  SliceOwners owners_;
  std::vector<ElementRange> own_slices_;
  Tensor own_norms_;  // of those
  Tensor first_moments_, second_moments_, squared_norms_, squared_norm_, applied_;
  std::vector<Matrix> matrices_;
  std::vector<ElementRange> adam_ranges_;  // everything else
};

}  // namespace heed
