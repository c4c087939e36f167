// Where a pool's workers run when the machine is shared. Linux takes a thread off its processor for milliseconds to let
// another process run there, and moves it elsewhere later than a barrier can wait.
#pragma once

#include <pthread.h>

#include <vector>

namespace heed {

// For one thread, the owner, to place others. Where the system refuses, nothing happens.
class Placement {
 public:
  // The threads may run wherever the calling thread may.
  void add(pthread_t thread);

  // Whether the thread waits for a processor: the processor time it has used does not grow over a few microseconds.
  bool stands_still(size_t thread) const;
  // Moves the thread to the processor of the caller, who is about to wait for it.
  void bring_here(size_t thread);
  // After that: keeps it off the caller's processor, where two of the pool's threads would share one.
  void send_away(size_t thread);
  // To be called now and then by the owner: once it runs elsewhere itself, the threads may run everywhere again.
  void refresh();

 private:
  struct Place {
    pthread_t thread;
    clockid_t clock;
  };

  std::vector<Place> places_;
  int avoided_processor_ = -1;
};

}  // namespace heed
