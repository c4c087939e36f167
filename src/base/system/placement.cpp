#include "base/system/placement.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
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

void prefer_short_turns() {
  constexpr uint64_t kResetOnFork = 1;
  constexpr uint64_t kTurn = 100'000;  // ns, the shortest that Linux gives
  const int nice = getpriority(PRIO_PROCESS, 0);
  if (sched_getscheduler(0) != SCHED_OTHER || nice < 0) {  // resetting would take a raised priority from new threads
    return;
  }
  // As sched_setattr(2) has it, which needs no privilege for this. Where it fails, turns stay as long as they are.
  struct {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
  } attributes{.size = sizeof attributes,
               .policy = SCHED_OTHER,
               .flags = kResetOnFork,
               .nice = nice,
               .priority = 0,
               .runtime = kTurn,
               .deadline = 0,
               .period = 0};
  syscall(SYS_sched_setattr, 0, &attributes, 0);
}

}  // namespace heed
