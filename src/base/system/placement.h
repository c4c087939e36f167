// Where a pool's workers run when the machine is shared. Linux takes a thread off its processor for milliseconds to let
// another process run there, and moves it elsewhere later than a barrier can wait.
#pragma once

#include <pthread.h>

#include <vector>

namespace heed {

// Lets one thread, the owner, place others. Where the system refuses, nothing happens.
class Placement {
 public:
  // The threads may run wherever the calling thread may.
  void add(pthread_t thread);

  // Whether the thread is waiting for a processor: its processor time does not grow over a few microseconds.
  bool is_stalled(size_t thread) const;
  // Moves the thread to the processor of the caller, which is about to wait for it.
  void move_here(size_t thread);
  // After move_here(): keeps it off the caller's processor, which two of the pool's threads would share otherwise.
  void move_away(size_t thread);
  // The owner calls this now and then: once it runs on another processor itself, the threads may run anywhere again.
  void refresh();

 private:
  struct Thread {
    pthread_t handle;
    clockid_t clock;
  };

  std::vector<Thread> threads_;
  int avoided_processor_ = -1;
};

// Asks the system to let the calling thread run soon whenever it has something to do, in return for short turns: for a
// thread that mostly waits, beside others that compute. Threads that it starts have usual turns. Linux before 6.12 pays
// no attention, and a thread whose priority or policy somebody has chosen stays as it is.
void prefer_short_turns();

}  // namespace heed
