#include "parallel/slice_messages.h"

#include <algorithm>
#include <numeric>

#include "kernels/calls/elements.h"
#include "tensor/view_bytes.h"

namespace heed {

size_t open_slices(int ranks) {
  constexpr int kInAll = 64, kOfOne = 32;
  return static_cast<size_t>(std::clamp(kInAll / ranks, 1, kOfOne));
}

View SliceSums::widened(ConstView part, View sum) {
  if (wide_.empty()) {
    wide_ = Tensor({WeightSlice::kMaxElements}, sum.type());
  }
  const View wide = wide_.view().column_range(0, sum.columns());
  backend_.copy(part, wide);
  return wide;
}

// Parts in the sum's type are added in one pass over memory.
void SliceSums::set(View sum, std::span<const ConstView> parts) {
  if (std::ranges::all_of(parts, [&](const ConstView& part) { return part.type() == sum.type(); })) {
    return backend_.sum_parts({.parts = parts, .bias = {}, .y = sum});
  }
  backend_.copy(parts.front(), sum);
  add(sum, parts.subspan(1));
}

void SliceSums::add(View sum, std::span<const ConstView> parts) {
  for (const ConstView& part : parts) {
    backend_.add(part.type() == sum.type() ? part : widened(part, sum), sum);
  }
}

std::vector<int> all_of(const Ranks& ranks) {
  std::vector<int> all(static_cast<size_t>(ranks.count()));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

SharedSlices begin_to_share(const Ranks& ranks, const SliceOwners& owners, std::span<const int> receivers,
                            const std::function<std::span<std::byte>(size_t slice)>& memory) {
  SharedSlices shared;
  for (size_t i = 0; i < owners.slices().size(); ++i) {
    const std::span<std::byte> bytes = memory(i);
    if (bytes.empty()) {
      continue;
    }
    if (!owners.is_own(i)) {
      shared.coming.push_back({i, ranks.receive(owners.owner(i), Channel::weights, bytes)});
      continue;
    }
    for (const int receiver : receivers) {
      if (receiver != ranks.rank()) {
        shared.sent.push_back(ranks.send(receiver, Channel::weights, bytes));
      }
    }
  }
  return shared;
}

void share_norms(const Ranks& ranks, const SliceOwners& owners, View squared_norms) {
  if (owners.owns_all()) {
    return;
  }
  const size_t count = owners.slices().size();
  double* const norms = host<double>(squared_norms).data;
  std::vector<double> all(count * static_cast<size_t>(ranks.count()));
  ranks.all_gather(std::as_bytes(std::span(norms, count)), std::as_writable_bytes(std::span(all)));
  for (size_t i = 0; i < count; ++i) {
    norms[i] = all[static_cast<size_t>(owners.owner(i)) * count + i];
  }
}

void share_weights(const Ranks& ranks, const SliceOwners& owners, std::span<const int> receivers,
                   const Trainables& trainables) {
  if (owners.owns_all()) {
    return;
  }
  SharedSlices shared = begin_to_share(ranks, owners, receivers, [&](size_t index) {
    const WeightSlice& slice = owners.slices()[index];
    return trainables.has_gradient(slice.weight) ? bytes_of(trainables.values(slice)) : std::span<std::byte>();
  });
  for (ComingSlice& coming : shared.coming) {
    ranks.wait(coming.transfer);
  }
  ranks.wait_for_all(shared.sent);
}

void collect_slices(const Ranks& ranks, const SliceOwners& owners, View flat) {
  if (owners.owns_all()) {
    return;
  }
  std::vector<Transfer> transfers;
  for (size_t i = 0; i < owners.slices().size(); ++i) {
    const WeightSlice& range = owners.slices()[i];
    const std::span<std::byte> memory = bytes_of(flat.column_range(range.first, range.count));
    if (ranks.is_first() && !owners.is_own(i)) {
      transfers.push_back(ranks.receive(owners.owner(i), Channel::state, memory));
    } else if (!ranks.is_first() && owners.is_own(i)) {
      transfers.push_back(ranks.send(0, Channel::state, memory));
    }
  }
  ranks.wait_for_all(transfers);
}

}  // namespace heed
