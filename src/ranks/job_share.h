// Which processors the ranks of one machine share.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "ranks/ranks.h"

namespace heed {

// The processors that a process may run on, how many of them at a time its control groups allow, and on which machine.
struct ProcessorSet {
  std::string machine;
  std::vector<int> processors;
  int quota = std::numeric_limits<int>::max();
};
// The processors of ranks[own], each divided among the ranks that may use it too, and no more than its part of the
// quota, which all ranks of a machine share. At least one.
int processor_share(const std::vector<ProcessorSet>& ranks, size_t own);

// Collective. From now on available_processors() is this rank's share.
void share_processors(const Ranks& ranks);

}  // namespace heed
