#include "base/system/placement.h"

#include <sched.h>
#include <ctime>

#include <cstdint>

namespace heed {
namespace {

cpu_set_t own_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) {
    CPU_ZERO(&set);
  }
  return set;
}

int64_t nanoseconds(clockid_t clock) {
  timespec time{};
  return clock_gettime(clock, &time) == 0 ? int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec : 0;
}

void allow(pthread_t thread, const cpu_set_t& set) { pthread_setaffinity_np(thread, sizeof set, &set); }

}  // namespace

void Placement::add(pthread_t thread) {
  clockid_t clock = CLOCK_THREAD_CPUTIME_ID;
  pthread_getcpuclockid(thread, &clock);
  threads_.push_back({thread, clock});
}

bool Placement::is_stalled(size_t thread) const {
  constexpr int64_t kLookFor = 5'000;
  const clockid_t clock = threads_[thread].clock;
  const int64_t start = nanoseconds(CLOCK_MONOTONIC), used = nanoseconds(clock);
  while (nanoseconds(CLOCK_MONOTONIC) - start < kLookFor) {
  }
  return nanoseconds(clock) == used;
}

void Placement::move_here(size_t thread) {
  const int here = sched_getcpu();
  if (here < 0) {
    return;
  }
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<size_t>(here), &set);
  allow(threads_[thread].handle, set);
}

void Placement::move_away(size_t thread) {
  cpu_set_t set = own_processors();
  const int here = sched_getcpu();
  if (here >= 0 && CPU_COUNT(&set) > 1) {
    CPU_CLR(static_cast<size_t>(here), &set);
  }
  avoided_processor_ = here;
  allow(threads_[thread].handle, set);
}

void Placement::refresh() {
  if (avoided_processor_ < 0 || sched_getcpu() == avoided_processor_) {
    return;
  }
  avoided_processor_ = -1;
  const cpu_set_t set = own_processors();
  for (const Thread& thread : threads_) {
    allow(thread.handle, set);
  }
}

}  // namespace heed
