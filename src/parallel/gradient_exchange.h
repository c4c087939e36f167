// Sums of shards' gradients between ranks that train copies of one model.
#pragma once

#include <deque>
#include <vector>

#include "parallel/slice_messages.h"
#include "ranks/ranks.h"

namespace heed {

// An update's shards are dealt out in rounds: in each, every rank has at most one, and rank r the r-th. Whoever owns a
// slice adds the shards' gradients of it in their order, each complete before it is added, so the sum has the bits of
// one process:
//   gradients() = ((shard 0 + shard 1) + shard 2) + ...
// A rank sends each slice to its owner as soon as backward has finished the slice's weight, so that messages travel
// while backward goes on. It knows that a weight is finished from how often the first round wrote its gradient: a
// model writes each as often for every shard.
class GradientExchange {
 public:
  // Gradients travel in `type`: f32, or bf16, to which this rank's own are rounded too.
  GradientExchange(const Ranks& ranks, Backend& backend, Trainables& trainables, const SliceOwners& owners, DType type);

  void begin_update() { rounds_ = 0; }
  // Before forward, since the loss writes gradients there already. The round has this many shards; ranks beyond them
  // have none.
  void begin_round(int64_t shards);
  // While backward goes on: sends what is finished, adds what has arrived.
  void advance();
  // After backward. The messages of this round may still be under way.
  void end_round();
  // After the last round: this rank's slices are complete in gradients().
  void finish_update();

 private:
  // The slices that this rank owns, as they come from one other rank.
  struct Peer {
    int rank = 0;
    std::vector<Tensor> memory;
    std::deque<Transfer> open;  // of the slices from added_ on; goes before its memory
  };

  bool has_shard() const { return ranks_.rank() < shards_; }
  bool is_finished(size_t slice) const;
  void send_finished();
  void send_slice(size_t slice);
  void post_receives(Peer& peer);
  bool add_next();
  void finish_round();
  void expect_as_many_writes();
  View gradient_of(size_t slice) const;

  Ranks ranks_;
  Backend& backend_;
  Trainables& trainables_;
  const SliceOwners& owners_;
  DType type_;
  SliceSums sums_;
  std::vector<size_t> own_;        // the slices
  std::vector<int64_t> expected_;  // writes of each weight's gradient; empty: not known yet
  std::vector<Peer> peers_;
  size_t open_slices_;  // from each of them
  Tensor rounded_;      // the shard's gradient in bf16
  std::vector<Transfer> sent_;
  int64_t shards_ = 0, rounds_ = 0;
  size_t next_to_send_ = 0, added_ = 0;  // among all slices; among own ones
  bool is_open_ = false;                 // a round that is not finished
};

}  // namespace heed
