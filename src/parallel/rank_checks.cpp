#include "parallel/rank_checks.h"

#include "base/checksum.h"
#include "base/errors.h"

namespace heed {

void require_same_on_all_ranks(const Ranks& ranks, const std::vector<NamedText>& things) {
  for (const NamedText& thing : things) {
    const std::vector<std::string> all = ranks.all_texts(thing.text);
    for (size_t rank = 1; rank < all.size(); ++rank) {
      require<RankError>(all[rank] == all.front(), ranks.name_of(static_cast<int>(rank)),
                         "its {} differs from the first rank's ({} and {})", thing.name, all[rank], all.front());
    }
  }
}

std::string checksum_of_values(const Trainables& trainables) {
  Checksum checksum;
  for (const WeightSlice& slice : trainables.slices()) {
    if (!trainables.is_held(slice.weight)) {
      continue;
    }
    const View values = trainables.values(slice);
    checksum.add({static_cast<const std::byte*>(host_address(values)),
                  static_cast<size_t>(values.elements() * size_of(values.type()))});
  }
  return checksum.text();
}

}  // namespace heed
