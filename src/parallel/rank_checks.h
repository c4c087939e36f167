// Checks of what all ranks of a run must have in common.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "nn/weights/trainables.h"
#include "ranks/ranks.h"

namespace heed {

struct NamedText {
  std::string_view name;  // "recipe"
  std::string text;
};

// Collective. RankError, on all ranks, that names the first rank and thing that differ from the first rank's.
void require_same_on_all_ranks(const Ranks& ranks, const std::vector<NamedText>& things);

// The checksum of the trained weights' values that layers read on this rank.
std::string checksum_of_values(const Trainables& trainables);

}  // namespace heed
