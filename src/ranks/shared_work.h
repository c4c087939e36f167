// Work in chunks, which the first rank deals out to the others as they come free.
#pragma once

#include "heed/types/shared_work.h"
#include "ranks/ranks.h"

namespace heed {

// See heed/ranks.h. Collective; there must be several ranks.
//
// The first rank works too: another of its threads deals out meanwhile. Chunks of a rank that is lost are dealt out
// again.
void share_messages(const Ranks& ranks, const MessageWork& work);

template <class Chunk, class Results>
void share_work(const Ranks& ranks, const SharedWork<Chunk, Results>& work) {
  if (ranks.is_alone()) {
    work_alone(work);
  } else {
    share_messages(ranks, as_messages(work));
  }
}

}  // namespace heed
