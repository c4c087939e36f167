// The outer steps of ranks that train independently, for links that are too slow for the gradients of every update.
#pragma once

#include <vector>

#include "nn/weights/trainables.h"
#include "optim/optimizer.h"
#include "parallel/wire_format.h"
#include "ranks/ranks.h"

namespace heed {

struct OuterStep {
  double rate = 0.7, momentum = 0.9;
};

// Each rank has all masters, and its own optimizer. An outer step, with w_r the masters of rank r and `anchor` those of
// all ranks after the last one (DiLoCo):
//   g = mean over ranks of (anchor - w_r)
//   m = momentum m + g
//   anchor -= rate (g + momentum m)    Nesterov's step
//   w_r = anchor
// Each rank takes this step for all weights, so none is missed when a rank leaves. Only the mean is shared out: a
// slice's differences go to one rank, which adds them in the order of the ranks and sends the mean to all. With n
// ranks, each sends 2 (n - 1) / n times the weights.
class OuterOptimizer {
 public:
  // Goes on from the masters as they are, which are the same on all ranks, and from `momentum`, which is laid out like
  // them and zeros at first: all that a run needs to go on after a step. Differences and means travel in `type`.
  OuterOptimizer(Backend& backend, Trainables& trainables, View momentum, const OuterStep& step, WireType type);

  // Collective. Uses the gradients' memory.
  void step(const Ranks& ranks);

 private:
  void step_together(const Ranks& ranks);
  // Puts a slice's difference where it travels from; and takes its mean from there.
  void take_difference(size_t slice);
  void move_anchor(size_t slice);
  View slice_of(View flat, size_t slice) const;
  std::span<std::byte> wire(size_t slice) const;

  Backend& backend_;
  Trainables& trainables_;
  OuterStep step_;
  WireFormat format_;
  std::vector<WeightSlice> slices_;
  std::vector<int64_t> begins_;  // of each slice among the bytes that travel
  View momentum_;
  Tensor anchor_;
  Tensor wire_;         // differences, then means; empty where they travel as they are, from the gradients' memory
  Tensor mean_, part_;  // of one slice
};

// For a checkpoint, each rank sends its optimizer's state to the first, which receives one after the other.
void send_optimizer(const Ranks& ranks, const Optimizer::State& state);

class ReceivedOptimizer {
 public:
  // `like`: the first rank's own.
  explicit ReceivedOptimizer(const Optimizer::State& like);
  // Valid until the next call.
  Optimizer::State receive(const Ranks& ranks, int from);

 private:
  Tensor first_moments_, second_moments_, applied_;
};

}  // namespace heed
