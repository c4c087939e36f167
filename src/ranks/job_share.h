// Which processors the ranks of one machine share.
#pragma once

#include <string>
#include <vector>

#include "ranks/ranks.h"

namespace heed {

// The processors that a process may use, and on which machine.
struct ProcessorSet {
  std::string machine;
  std::vector<int> processors;
};
// The processors of ranks[own], each divided among the ranks that may use it too; at least one.
int processor_share(const std::vector<ProcessorSet>& ranks, size_t own);

// Collective. From now on available_processors() is this rank's share.
void share_processors(const Ranks& ranks);

}  // namespace heed
