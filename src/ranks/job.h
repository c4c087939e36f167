// The job that this process belongs to: alone, or one rank of several that mpirun or a batch system started.
#pragma once

#include <functional>
#include <string>

#include "ranks/ranks.h"

namespace heed {

// All ranks of the job, within run_job(); otherwise this process alone.
Ranks job_ranks();

struct JobSettings {
  std::function<std::string()> build;  // a text for messages, which must be the same on all ranks
  std::function<void(const std::string& line)> print;
};

// Runs `body`, and returns the status with which the process is to exit: 0, or 2 when an std::exception came out of it
// or another rank has failed. Of all ranks' errors one is printed, by one rank: the first, unless it does not answer.
// If one of the ranks does not finish, all ranks are ended and the call does not return.
//
// A process alone loads no MPI.
int run_job(const JobSettings& settings, const std::function<void()>& body);

}  // namespace heed
