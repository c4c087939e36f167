#include "optim/piece_owners.h"

#include <algorithm>
#include <numeric>

namespace heed {

PieceOwners::PieceOwners(const Trainables& trainables) : pieces_(trainables.pieces()), owners_(pieces_.size()) {}

PieceOwners::PieceOwners(const Trainables& trainables, const std::vector<bool>& together, RankOf own,
                         const Holders& holders)
    : pieces_(trainables.pieces()), owners_(pieces_.size()), rank_(own.rank), owns_all_(own.count == 1) {
  std::vector<int64_t> owned(static_cast<size_t>(own.count));
  std::vector<int> all(owned.size());
  std::iota(all.begin(), all.end(), 0);
  for (size_t i = 0; i < pieces_.size(); ++i) {
    const bool goes_on =
        i > 0 && !together.empty() && pieces_[i].weight == pieces_[i - 1].weight && together[pieces_[i].weight];
    const std::vector<int>& among = holders.empty() ? all : holders[pieces_[i].weight];
    const auto least = [&](int other) { return owned[static_cast<size_t>(other)]; };
    owners_[i] = goes_on ? owners_[i - 1] : *std::ranges::min_element(among, {}, least);
    owned[static_cast<size_t>(owners_[i])] += pieces_[i].count;
  }
}

}  // namespace heed
