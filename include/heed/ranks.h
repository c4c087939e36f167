// Several processes as the ranks of one job, which mpirun or a batch system started.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "heed/types/shared_work.h"

namespace heed {

// Runs `body`, and returns the status with which the process is to exit: 0, or 2 when an std::exception came out of
// `body`, whose message `print` has been given.
//
// In a job of several ranks, all of them call this once, with the same `body`; what the functions of <heed/...> share
// out among ranks, they share out within it. When one fails, all do: one message is printed, by one rank, the first
// unless it does not answer; it begins with the number of the rank that failed where that is another one. If a rank
// does not finish, all ranks are ended and the call does not return.
//
// MPI is loaded only where there are several ranks.
int run_as_rank(const std::function<void()>& body, const std::function<void(const std::string& message)>& print);

// This process among the ranks of its job.
struct RankOfJob {
  int rank = 0, count = 1;
  bool is_first() const { return rank == 0; }
  bool is_alone() const { return count == 1; }
};
RankOfJob rank_of_job();

// All ranks of the job call this. Each takes another chunk whenever it is free, the first rank too. When a rank no
// longer answers, its chunk goes to another one and the job ends without it, unless it is the first. Without other
// ranks, this process does all the work.
template <class Chunk, class Results>
void share_work(const SharedWork<Chunk, Results>& work);

// How many lines a chunk has: `alone`, which batches best, where there are no other ranks; otherwise fewer, so that all
// ranks end at about the same time.
size_t lines_at_once(size_t alone);

// Among several ranks.
void share_messages(const MessageWork& work);

template <class Chunk, class Results>
void share_work(const SharedWork<Chunk, Results>& work) {
  if (rank_of_job().is_alone()) {
    work_alone(work);
  } else {
    share_messages(as_messages(work));
  }
}

}  // namespace heed
