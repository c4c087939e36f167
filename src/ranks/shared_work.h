// Work in chunks, which the first rank deals out to the others as they come free.
#pragma once

#include "heed/shared_work.h"
#include "ranks/ranks.h"

namespace heed {

// See heed/ranks.h. Collective.
//
// The first rank works too: another of its threads deals out meanwhile. Chunks of a rank that is lost are dealt out
// again.
void share_work(const Ranks& ranks, const SharedWork& work);

}  // namespace heed
