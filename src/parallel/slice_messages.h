// What ranks do with slices of weights that other ranks own, or send to their owners.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "nn/weights/trainables.h"
#include "optim/slice_owners.h"
#include "ranks/ranks.h"

namespace heed {

// How many messages with slices a rank expects from each of `ranks` at a time: few enough in all, and enough of each to
// keep a link busy whose queues hold a tenth of a second.
size_t open_slices(int ranks);

// Adds slices as they came, in the type in which they travelled, to sums in the master type.
class SliceSums {
 public:
  explicit SliceSums(Backend& backend) : backend_(backend) {}

  // sum = parts[0] + parts[1] + ..., in this order.
  void set(View sum, std::span<const ConstView> parts);
  // sum = ((sum + parts[0]) + parts[1]) + ...
  void add(View sum, std::span<const ConstView> parts);

 private:
  View widened(ConstView part, View sum);

  Backend& backend_;
  Tensor wide_;  // of a part in another type than the sum's
};

std::vector<int> all_of(const Ranks& ranks);

struct ComingSlice {
  size_t slice = 0;
  Transfer transfer;
};

// Slices on their way from their owners. `sent` are the messages with own slices.
struct SharedSlices {
  std::vector<ComingSlice> coming;
  std::vector<Transfer> sent;
};

// Each slice goes from its owner to all other `receivers`. Slices whose memory is empty are left out.
SharedSlices begin_to_share(const Ranks& ranks, const SliceOwners& owners, std::span<const int> receivers,
                            const std::function<std::span<std::byte>(size_t slice)>& memory);

// The following do nothing where this rank owns all slices.

// Fills in the norms of the other ranks' slices, of which their owners have computed them.
void share_norms(const Ranks& ranks, const SliceOwners& owners, View squared_norms);
// Sends the values of the trained weights that this rank owns to `receivers`, and takes those that others own, of the
// weights that are held here.
void share_weights(const Ranks& ranks, const SliceOwners& owners, std::span<const int> receivers,
                   const Trainables& trainables);
// Brings memory that is laid out like the masters from the slices' owners to the first rank.
void collect_slices(const Ranks& ranks, const SliceOwners& owners, View flat);

}  // namespace heed
