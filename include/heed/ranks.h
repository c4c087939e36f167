// Several processes as the ranks of one job, which mpirun or a batch system started.
#pragma once

#include <functional>
#include <string>

namespace heed {

// Runs `body`, and returns the status with which the process is to exit: 0, or 2 when an std::exception came out of
// `body`, whose message `print` has been given.
//
// In a job of several ranks, all of them call this once, with the same `body`; what the functions of <heed/...> share
// out among ranks, they share out within it. When one fails, all do: one message is printed, by one rank, the first
// unless it does not answer; it begins with the number of the rank that failed where that is another one. Ranks that
// do not come to their end are ended: then, the call does not return.
//
// MPI is loaded only where there are several ranks.
int run_as_rank(const std::function<void()>& body, const std::function<void(const std::string& message)>& print);

}  // namespace heed
