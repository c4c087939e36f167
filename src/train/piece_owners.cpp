#include "train/piece_owners.h"

#include <algorithm>

namespace heed {

PieceOwners::PieceOwners(const Trainables& trainables) : pieces_(trainables.pieces()), owners_(pieces_.size()) {}

PieceOwners::PieceOwners(const Trainables& trainables, const std::vector<bool>& together, int ranks, int rank)
    : pieces_(trainables.pieces()), owners_(pieces_.size()), rank_(rank), owns_all_(ranks == 1) {
  std::vector<int64_t> owned(static_cast<size_t>(ranks));
  for (size_t i = 0; i < pieces_.size(); ++i) {
    const bool goes_on = i > 0 && pieces_[i].weight == pieces_[i - 1].weight && together[pieces_[i].weight];
    owners_[i] = goes_on ? owners_[i - 1] : static_cast<int>(std::ranges::min_element(owned) - owned.begin());
    owned[static_cast<size_t>(owners_[i])] += pieces_[i].count;
  }
}

}  // namespace heed
