#include "optim/slice_owners.h"

#include <algorithm>
#include <numeric>

namespace heed {

SliceOwners::SliceOwners(const Trainables& trainables) : slices_(trainables.slices()), owners_(slices_.size()) {}

SliceOwners::SliceOwners(const Trainables& trainables, const std::vector<bool>& together, RankOf own,
                         const Holders& holders)
    : slices_(trainables.slices()), owners_(slices_.size()), rank_(own.rank), owns_all_(own.count == 1) {
  std::vector<int64_t> owned(static_cast<size_t>(own.count));
  std::vector<int> all(owned.size());
  std::iota(all.begin(), all.end(), 0);
  for (size_t i = 0; i < slices_.size(); ++i) {
    const bool goes_on =
        i > 0 && !together.empty() && slices_[i].weight == slices_[i - 1].weight && together[slices_[i].weight];
    const std::vector<int>& among = holders.empty() ? all : holders[slices_[i].weight];
    const auto least = [&](int other) { return owned[static_cast<size_t>(other)]; };
    owners_[i] = goes_on ? owners_[i - 1] : *std::ranges::min_element(among, {}, least);
    owned[static_cast<size_t>(owners_[i])] += slices_[i].count;
  }
}

}  // namespace heed
