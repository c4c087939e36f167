#include "ranks/rank_processes.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "base/errors.h"
#include "ranks/machine.h"

namespace heed {
namespace {

using Clock = std::chrono::steady_clock;

// The thread looks at the clock this often. If it has not done so for much longer, this process was stopped, and wakes
// up when the others have long said what was wrong and ended.
constexpr std::chrono::milliseconds kLookPeriod(500), kLongestLookPeriod(2000);
// What ranks tell each other about an error arrives within this time.
constexpr std::chrono::milliseconds kUntilKnown(250);
// Then ranks that are told to end do so. mpirun waits for a second in all before it kills.
constexpr std::chrono::milliseconds kUntilEnd(400);

// What wakes the watching thread: SIGTERM, or the end of the object.
int wake_up = -1;
volatile std::sig_atomic_t was_told_to_end = 0;

void write_wake_up() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_up, &one, sizeof one);
}

extern "C" void on_terminate(int) {
  const int before = errno;
  was_told_to_end = 1;
  write_wake_up();
  errno = before;
}

bool is_readable(int descriptor) {
  pollfd one{.fd = descriptor, .events = POLLIN, .revents = 0};
  return ::poll(&one, 1, 0) > 0;
}

}  // namespace

bool RankProcesses::Process::has_ended() const { return is_readable(descriptor); }

RankProcesses::RankProcesses(const Ranks& ranks, Job job)
    : rank_(ranks.rank()), count_(ranks.count()), job_(std::move(job)) {
  const std::vector<std::string> numbers = ranks.all_texts(std::to_string(::getpid()));
  for (const int rank : ranks_of_machine(ranks.all_texts(machine_name()), rank_)) {
    const std::string& number = numbers[static_cast<size_t>(rank)];
    // A kernel without this call tells of nothing, and mpirun's own message has to do.
    const auto descriptor =
        static_cast<int>(rank == rank_ ? -1 : ::syscall(SYS_pidfd_open, std::atoi(number.c_str()), 0));
    if (descriptor >= 0) {
      others_.push_back({rank, number, descriptor});
    }
  }
  if (others_.empty()) {
    return;
  }
  wake_up = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  struct sigaction action {};
  action.sa_handler = on_terminate;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGTERM, &action, nullptr);
  thread_ = std::thread([this] { watch(); });
}

RankProcesses::~RankProcesses() {
  if (thread_.joinable()) {
    stopping_ = true;
    write_wake_up();
    thread_.join();
    ::signal(SIGTERM, SIG_DFL);
    ::close(std::exchange(wake_up, -1));
  }
  for (const Process& process : others_) {
    ::close(process.descriptor);
  }
}

void RankProcesses::watch() {
  auto looked = Clock::now();
  while (!stopping_) {
    std::vector<pollfd> events{{.fd = wake_up, .events = POLLIN, .revents = 0}};
    for (const Process& process : others_) {
      if (!process.has_ended()) {
        events.push_back({.fd = process.descriptor, .events = POLLIN, .revents = 0});
      }
    }
    ::poll(events.data(), events.size(), static_cast<int>(kLookPeriod.count()));
    has_said_all_ = has_said_all_ || Clock::now() - looked > kLongestLookPeriod;
    looked = Clock::now();
    const bool is_to_end = was_told_to_end != 0;  // one answer for both: who is told to end names the lost rank first
    if (!stopping_ && !has_said_all_) {
      name_ended(is_to_end);
    }
    if (is_to_end && !stopping_) {
      return end_by_signal();
    }
  }
}

// A rank that has told of an error ends too, and so do those that wait for it no longer.
void RankProcesses::name_ended(bool is_to_end) {
  const auto ended = std::ranges::find_if(others_, &Process::has_ended);
  const auto left = std::ranges::find_if_not(others_, &Process::has_ended);
  const bool is_first_left = left == others_.end() || rank_ < left->rank;
  const bool is_of_interest = is_to_end || !job_.survives_losses();
  if (ended == others_.end() || !is_first_left || !is_of_interest) {
    return;
  }
  has_said_all_ = true;
  std::this_thread::sleep_for(kUntilKnown);
  if (!stopping_ && !job_.has_failed()) {
    job_.print(fmt::format("rank {} of {}: process {} has ended: it was killed, or crashed", ended->rank, count_,
                           ended->number));
  }
}

void RankProcesses::end_by_signal() {
  std::this_thread::sleep_for(kUntilEnd);
  if (!stopping_) {
    ::signal(SIGTERM, SIG_DFL);
    ::kill(::getpid(), SIGTERM);
  }
}

}  // namespace heed
