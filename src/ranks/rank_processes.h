// The processes of a machine's ranks, and who says that one of them was killed.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "ranks/ranks.h"

namespace heed {

// mpirun names a process that was killed by its number, and ends the others at once: they have no time to miss its
// messages. While this object lives, the system tells of the end of each process of this machine, and the first rank
// that is left prints a line. SIGTERM then ends this process less than a second later, unless another handler takes
// it: so long all ranks know who is left.
class RankProcesses {
 public:
  struct Job {
    std::function<void(const std::string& message)> print;
    std::function<bool()> has_failed;       // the ranks know that, and why
    std::function<bool()> survives_losses;  // a line is printed only where the job is ended in spite of that
  };

  // Collective.
  RankProcesses(const Ranks& ranks, Job job);
  ~RankProcesses();
  RankProcesses(const RankProcesses&) = delete;
  RankProcesses& operator=(const RankProcesses&) = delete;

 private:
  struct Process {
    int rank = 0;
    std::string number;
    int descriptor = -1;  // readable once the process has ended

    bool has_ended() const;
  };

  void watch();
  void name_ended(bool is_to_end);
  void end_by_signal();

  int rank_, count_;
  Job job_;
  std::vector<Process> others_;
  bool has_said_all_ = false;  // or has nothing to say, since this process was stopped
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace heed
