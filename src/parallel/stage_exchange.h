// Sums of shards' gradients between ranks that train copies of one stage of a model.
#pragma once

#include <deque>
#include <vector>

#include "parallel/slice_messages.h"
#include "ranks/ranks.h"

namespace heed {

// An update's shards are dealt out in rounds, as by GradientExchange: in each, every copy has at most one, and copy c
// the c-th. Whoever owns a slice adds the shards' gradients of it in their order, each complete before it is added. All
// copies of a stage complete the gradients of the same weights in the same order, and so send and expect them in it.
// Where there is one copy, it adds its own, but for the first shard's, which already lie where the sum will be.
class StageExchange {
 public:
  // `owners` divides the slices among `ranks`, of which `copies` hold this stage, in the order of their shards.
  // Gradients travel in `type`; when they come here, they are rounded to it.
  StageExchange(const Ranks& ranks, std::vector<int> copies, Backend& backend, Trainables& trainables,
                const SliceOwners& owners, DType type);

  void begin_update(int64_t shards) { shards_ = shards; }
  // Whether this round's gradients are to lie in the trainables' gradients, which needs no copy.
  bool is_in_place(int64_t round) const { return round == 0 && copies_.size() == 1; }

  // A gradient that is complete; without values where this copy has no shard in the round.
  struct Complete {
    size_t weight = 0;
    View gradient;
  };
  // Sends what others own. The values must stay until finish(), which adds what this rank owns to the trainables'
  // gradients.
  void begin(const std::vector<Complete>& gradients, int64_t round);
  void finish();

 private:
  // A slice that this rank owns, and its values in this rank's shard, if it has one.
  struct OwnSlice {
    size_t slice = 0;
    View gradient;
  };
  // What comes from one other copy, a few slices at a time.
  struct Peer {
    std::vector<Tensor> memory;
    std::deque<Transfer> open;  // goes before its memory
  };

  View in_slice(const Complete& gradient, size_t slice) const;
  void send_slice(size_t slice, const View& gradient);
  void receive_next(size_t copy);

  Ranks ranks_;
  std::vector<int> copies_;
  Backend& backend_;
  Trainables& trainables_;
  const SliceOwners& owners_;
  DType type_;
  SliceSums sums_;
  std::vector<std::vector<size_t>> slices_;  // of each weight
  size_t open_slices_;                       // from each copy
  int64_t shards_ = 0;                       // of the update

  // Where the round that has begun stands.
  bool is_first_round_ = false;
  size_t senders_ = 0, added_ = 0;  // copies that have a shard in it; slices of own_
  std::vector<OwnSlice> own_;
  std::vector<Peer> peers_;         // by copy
  std::deque<Tensor> wire_copies_;  // what is sent, where that is not the gradients themselves
  std::vector<Transfer> sent_;
};

}  // namespace heed
