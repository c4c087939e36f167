#include "ranks/mpi/mpi_transport.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "base/errors.h"
#include "base/system/clock.h"

namespace heed {
namespace {

using Seconds = std::chrono::duration<double>;

// The thread calls MPI this often while messages are on their way. Where there is no more than one processor for each
// rank, each call takes it from the thread that computes, which costs far more than the call.
constexpr double kTick = 1e-3;
constexpr double kLongestIdleTick = 0.1;
// Who waits for a message tries this often before it lets others have the processor.
constexpr int kTriesAtOnce = 100, kTriesWithYields = 20;
constexpr double kShortestSleep = 20e-6, kLongestSleep = 200e-6, kLongestPause = 1e-3;
// Before a large message leaves, its receiver is asked. The answer is queued after what the receiver sends itself,
// since two processes share one connection. If everything to be sent were in those queues, answers would take as long
// as messages, and where both ranks send, the link would carry half as much as it can. So MPI is given this many bytes
// of an outbox at a time, or one message; the rest waits here. A receiver takes the messages of an outbox in their
// order, so what it waits for is never held up by something that it does not take.
constexpr size_t kLargestBegun = size_t{1} << 21;
// From this size on, a message goes through memory that both ranks share, where they do.
constexpr size_t kSmallestShared = size_t{1} << 14;
// For a message whose receiver or sender has given up.
constexpr double kCancelTime = 0.2;

// Whether find_arrival() is never asked for its messages: they have a size that their receiver knows.
bool has_known_sizes(Channel channel) {
  using enum Channel;
  return channel == gradients || channel == weights || channel == state || channel == activations ||
         channel == derivatives || channel == partial;
}

bool may_be_shared(Channel channel, size_t bytes) { return has_known_sizes(channel) && bytes >= kSmallestShared; }

void sleep_for(double seconds) { std::this_thread::sleep_for(Seconds(seconds)); }

}  // namespace

class MpiTransport::Open final : public Transfer::State {
 public:
  // To or from a rank; `outbox` of what is sent.
  Open(MpiTransport& transport, int whom, std::span<const std::byte> sent, Outbox* its_outbox)
      : other(whom), bytes(sent), outbox(its_outbox), transport_(transport) {}
  ~Open() override { transport_.abandon(*this); }
  Open(const Open&) = delete;
  Open& operator=(const Open&) = delete;

  bool is_done() override { return transport_.test(*this); }
  void wait() override { transport_.wait(*this); }

  void* request = nullptr;
  enum class Phase : uint8_t { unknown, waiting, begun, done } phase = Phase::unknown;  // begun: MPI has it
  int other;
  std::span<const std::byte> bytes;
  Outbox* outbox;  // null: it is received, or goes through shared memory
  std::optional<SharedMessages::Message> shared;

 private:
  MpiTransport& transport_;
};

MpiTransport::MpiTransport(const HeedMpiTable& mpi, const RankTimes& times, WhenBusy when_busy)
    : mpi_(mpi),
      times_(times),
      when_busy_(std::move(when_busy)),
      rank_(mpi.rank(mpi.self)),
      count_(mpi.count(mpi.self)),
      largest_tag_(mpi.largest_tag(mpi.self)),
      notices_(mpi, times, seconds_now()),
      thread_([this] { run(); }) {}

MpiTransport::~MpiTransport() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

Transfer MpiTransport::send(int to, const Topic& topic, std::span<const std::byte> bytes) {
  std::shared_ptr<Open> transfer;  // goes after the lock
  const std::lock_guard lock(mutex_);
  check_failure();
  const int outbox_tag = tag(topic);
  if (shared_ && shared_->sends_to(to) && may_be_shared(topic.channel, bytes.size())) {
    transfer = std::make_shared<Open>(*this, to, bytes, nullptr);
    begin_shared(*transfer, {.rank = to, .tag = outbox_tag, .sent = bytes});
    return Transfer(std::move(transfer));
  }
  Outbox& outbox = outboxes_[{to, outbox_tag}];
  outbox.tag = outbox_tag;
  transfer = std::make_shared<Open>(*this, to, bytes, &outbox);
  outbox.waiting.push_back(transfer.get());
  transfer->phase = Open::Phase::waiting;
  count_open();
  advance(outbox);
  return Transfer(std::move(transfer));
}

Transfer MpiTransport::receive(int from, const Topic& topic, std::span<std::byte> bytes) {
  auto transfer = std::make_shared<Open>(*this, from, std::span<const std::byte>(), nullptr);
  const std::lock_guard lock(mutex_);
  check_failure();
  if (shared_ && shared_->receives_from(from) && may_be_shared(topic.channel, bytes.size())) {
    begin_shared(*transfer, {.rank = from, .tag = tag(topic), .received = bytes});
    return Transfer(std::move(transfer));
  }
  require_mpi(mpi_.receive(mpi_.self, bytes.data(), bytes.size(), from, tag(topic), &transfer->request), "receive");
  transfer->phase = Open::Phase::begun;
  count_open();
  return Transfer(std::move(transfer));
}

void MpiTransport::begin_shared(Open& transfer, const SharedMessages::Message& message) {
  shared_->begin(transfer.shared.emplace(message));
  transfer.phase = Open::Phase::begun;
  count_open();
}

void MpiTransport::share_memory(std::unique_ptr<SharedMessages> messages) {
  const std::lock_guard lock(mutex_);
  shared_ = std::move(messages);
}

std::optional<Arrival> MpiTransport::find_arrival(std::optional<int> from, const Topic& topic) {
  const std::lock_guard lock(mutex_);
  check_failure();
  int found = 0, source = 0;
  uint64_t size = 0;
  require_mpi(mpi_.probe(mpi_.self, from.value_or(kHeedMpiAnyRank), tag(topic), &found, &source, &size), "probe");
  if (found == 0) {
    return std::nullopt;
  }
  pauses_ = 0;
  return Arrival{source, size};
}

void MpiTransport::pause() {
  const int pauses = ++pauses_;
  if (pauses > kTriesAtOnce) {
    sleep_for(std::min(kShortestSleep * (pauses - kTriesAtOnce), kLongestPause));
  } else if (pauses > kTriesWithYields) {
    std::this_thread::yield();
  }
}

void MpiTransport::announce_failure(const std::string& why) {
  const std::lock_guard lock(mutex_);
  const RankFailure own{rank_, RankFailure::Kind::error, message_of_rank(rank_, count_, why)};
  if (!notices_.failure()) {
    notices_.note(own);
    call_mpi([&] { notices_.announce(own); });
  }
}

void MpiTransport::tolerate_losses() {
  const std::lock_guard lock(mutex_);
  notices_.tolerate_losses();
}

bool MpiTransport::is_lost(int rank) {
  const std::lock_guard lock(mutex_);
  return notices_.is_lost(rank);
}

void MpiTransport::count_open() {
  if (++open_ == 1 && idle_) {
    changed_.notify_all();
  }
}

bool MpiTransport::test(Open& transfer) {
  const std::lock_guard lock(mutex_);
  if (transfer.phase != Open::Phase::done) {
    check_failure();
    if (shared_) {
      shared_->advance();
    }
    if (transfer.phase == Open::Phase::waiting) {
      advance(*transfer.outbox);
    } else if (has_ended(transfer)) {
      close(transfer);
      if (transfer.outbox != nullptr) {
        advance(*transfer.outbox);
      }
    }
  }
  return transfer.phase == Open::Phase::done;
}

bool MpiTransport::has_ended(Open& transfer) const {
  if (transfer.shared) {
    return transfer.shared->has_ended;
  }
  int done = 0;
  require_mpi(mpi_.test(mpi_.self, &transfer.request, &done), "test");
  return done != 0;
}

void MpiTransport::close(Open& transfer) {
  transfer.phase = Open::Phase::done;
  --open_;
  if (transfer.outbox != nullptr) {
    leave_outbox(transfer);
  }
}

// What has left makes room for what waits.
void MpiTransport::advance(Outbox& outbox) {
  while (!outbox.waiting.empty() && !outbox.begun.empty() && has_ended(*outbox.begun.front())) {
    close(*outbox.begun.front());
  }
  const auto has_room = [&] {
    return outbox.begun.empty() || outbox.begun_bytes + outbox.waiting.front()->bytes.size() <= kLargestBegun;
  };
  while (!outbox.waiting.empty() && has_room()) {
    Open& next = *outbox.waiting.front();
    require_mpi(mpi_.send(mpi_.self, next.bytes.data(), next.bytes.size(), next.other, outbox.tag, &next.request),
                "send");
    next.phase = Open::Phase::begun;
    outbox.begun.push_back(&next);
    outbox.begun_bytes += next.bytes.size();
    outbox.waiting.pop_front();
  }
}

void MpiTransport::leave_outbox(Open& transfer) {
  Outbox& outbox = *transfer.outbox;
  std::erase(outbox.waiting, &transfer);
  if (std::erase(outbox.begun, &transfer) > 0) {
    outbox.begun_bytes -= transfer.bytes.size();
  }
}

void MpiTransport::wait(Open& transfer) {
  double pause = kShortestSleep;
  for (int tries = 0; !test(transfer); ++tries) {
    require<RankError>(!is_lost(transfer.other), fmt::format("rank {} of {}", transfer.other, count_),
                       "was lost while rank {} waited for it", rank_);
    if (tries > kTriesAtOnce + kTriesWithYields) {
      sleep_for(pause);
      pause = std::min(1.5 * pause, kLongestSleep);
    } else if (tries > kTriesAtOnce) {
      std::this_thread::yield();
    }
  }
}

// Its memory is about to go. MPI may write there or read from there until the request has ended.
void MpiTransport::abandon(Open& transfer) {
  const std::lock_guard lock(mutex_);
  if (transfer.phase == Open::Phase::unknown || transfer.phase == Open::Phase::done) {
    return;
  }
  --open_;
  if (transfer.shared) {
    return shared_->abandon(*transfer.shared);
  }
  if (transfer.outbox != nullptr) {
    leave_outbox(transfer);
  } else if (!broken_) {
    mpi_.cancel(mpi_.self, &transfer.request);
  }
  int done = transfer.phase == Open::Phase::waiting ? 1 : 0;
  for (const double until = seconds_now() + kCancelTime; done == 0 && !broken_;) {
    broken_ = mpi_.test(mpi_.self, &transfer.request, &done) != 0 || (done == 0 && seconds_now() > until);
  }
}

void MpiTransport::check_failure() const {
  if (const auto& failure = notices_.failure()) {
    throw RankError(failure->message);
  }
}

int MpiTransport::tag(const Topic& topic) const {
  const int tag = mpi_tag(topic);
  require<RankError>(tag <= largest_tag_, "ranks", "this MPI has tags up to {}, but group {} needs {}", largest_tag_,
                     topic.group, tag);
  return tag;
}

void MpiTransport::run() {
  std::unique_lock lock(mutex_);
  const double idle_tick = std::min(kLongestIdleTick, times_.silence / 30.0);
  double next_beat = 0.0;
  while (!stopping_) {
    const double now = seconds_now();
    call_mpi([this] { advance_waiting(); });
    if (now >= next_beat) {
      call_mpi([this, now] { notices_.beat(now); });
      next_beat = now + idle_tick;
    }
    end_if_busy(lock, now);
    idle_ = open_ == 0 || broken_;
    changed_.wait_for(lock, Seconds(idle_ ? idle_tick : kTick));
    idle_ = false;
  }
}

// Messages move while notices are looked for.
void MpiTransport::advance_waiting() {
  notices_.exchange();
  if (shared_ && !notices_.failure()) {
    shared_->advance();
  }
  for (auto& [whom, outbox] : outboxes_) {
    if (!outbox.waiting.empty() && !notices_.failure()) {
      advance(outbox);
    }
  }
}

// A thread that computes on after a failure does not learn of it until it asks for a message.
void MpiTransport::end_if_busy(std::unique_lock<std::mutex>& lock, double now) {
  const std::optional<RankFailure>& failure = notices_.failure();
  if (!failure || ending_) {
    return;
  }
  failed_since_ = failed_since_ == 0.0 ? now : failed_since_;
  if (now - failed_since_ > times_.busy) {
    ending_ = true;
    const RankFailure copy = *failure;
    lock.unlock();
    when_busy_(copy);
    lock.lock();
  }
}

// On the transport's own thread, an error of MPI's becomes a failure that the next operation throws.
template <class Call>
void MpiTransport::call_mpi(Call call) {
  try {
    if (!broken_) {
      call();
    }
  } catch (const RankError& error) {
    broken_ = true;
    notices_.note({rank_, RankFailure::Kind::error, message_of_rank(rank_, count_, error.what())});
  }
}

bool MpiTransport::begin_end() {
  const std::lock_guard lock(mutex_);
  return !std::exchange(ending_, true);
}

std::optional<RankFailure> MpiTransport::failure() {
  const std::lock_guard lock(mutex_);
  return notices_.failure();
}

void MpiTransport::say_printed() {
  const std::lock_guard lock(mutex_);
  call_mpi([this] { notices_.say_printed(); });
}

template <class Condition>
bool MpiTransport::wait_until(double seconds, Condition condition) {
  for (const double until = seconds_now() + seconds; seconds_now() < until; sleep_for(kLongestPause)) {
    const std::lock_guard lock(mutex_);
    call_mpi([this] { notices_.exchange(); });
    if (condition()) {
      return true;
    }
  }
  return false;
}

bool MpiTransport::wait_until_printed(double seconds) {
  return wait_until(seconds, [this] { return notices_.is_printed(); });
}

bool MpiTransport::wait_until_all_ended() {
  bool all = false;
  wait_until(std::numeric_limits<double>::infinity(), [&] {
    all = !notices_.failure() && notices_.say_ended();
    return all || notices_.failure().has_value();
  });
  return all;
}

bool MpiTransport::wait_until_all_ended_after_failure() {
  return wait_until(times_.ending, [this] { return !broken_ && open_ == 0 && notices_.say_ended(); });
}

}  // namespace heed
