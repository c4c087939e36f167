#include "ranks/thread_transport.h"

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <tuple>
#include <vector>

#include "base/errors.h"

namespace heed {
namespace {

struct Letterbox {
  int from = 0, to = 0;
  Topic topic;
  auto operator<=>(const Letterbox&) const = default;  // NOLINT(modernize-use-nullptr): mistakes the default's zero
};

// One side of a message that waits for the other side.
struct Half {
  std::byte* address = nullptr;
  size_t bytes = 0;
  bool done = false;
  bool given_up = false;  // its memory may be gone
};

// What the threads share.
class Exchange {
 public:
  explicit Exchange(int count) : count_(count) {}

  int count() const { return count_; }

  std::shared_ptr<Half> send(const Letterbox& box, std::span<const std::byte> bytes) {
    return join(box, {const_cast<std::byte*>(bytes.data()), bytes.size()}, sent_, expected_);
  }

  std::shared_ptr<Half> receive(const Letterbox& box, std::span<std::byte> bytes) {
    return join(box, {bytes.data(), bytes.size()}, expected_, sent_);
  }

  std::optional<Arrival> find(std::optional<int> from, Letterbox box) {
    const std::lock_guard lock(mutex_);
    require_whole();
    for (int rank = from.value_or(0); rank < (from ? *from + 1 : count_); ++rank) {
      box.from = rank;
      const auto found = sent_.find(box);
      if (found != sent_.end() && !found->second.empty() && !found->second.front()->given_up) {
        return Arrival{rank, found->second.front()->bytes};
      }
    }
    return std::nullopt;
  }

  bool is_done(const Half& half) {
    const std::lock_guard lock(mutex_);
    if (!half.done) {
      require_whole();
    }
    return half.done;
  }

  void wait(const Half& half) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return half.done || !failure_.empty(); });
    if (!half.done) {
      require_whole();
    }
  }

  // By a rank that an error has reached, before the others know of it: no later call will match this half.
  void give_up(Half& half) {
    const std::lock_guard lock(mutex_);
    half.given_up = !half.done;
  }

  void pause() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::milliseconds(1));
  }

  void fail(int rank, const std::string& why) {
    const std::lock_guard lock(mutex_);
    if (failure_.empty()) {
      failure_ = fmt::format("rank {} of {}: {}", rank, count_, why);
    }
    changed_.notify_all();
  }

 private:
  using Boxes = std::map<Letterbox, std::deque<std::shared_ptr<Half>>>;

  void require_whole() const {
    if (!failure_.empty()) {
      throw RankError(failure_);
    }
  }

  // Copies if the other side waits already, or else waits for it.
  std::shared_ptr<Half> join(const Letterbox& box, const Half& half, Boxes& ours, Boxes& others) {
    const std::lock_guard lock(mutex_);
    require_whole();
    auto own = std::make_shared<Half>(half);
    auto& waiting = others[box];
    if (waiting.empty() || waiting.front()->given_up) {
      ours[box].push_back(own);
    } else {
      const std::shared_ptr<Half> other = waiting.front();
      waiting.pop_front();
      const Half &sent = &ours == &sent_ ? *own : *other, &expected = &ours == &sent_ ? *other : *own;
      ensure(sent.bytes == expected.bytes, "ranks", "a message of {} bytes, but the receiver expects {}", sent.bytes,
             expected.bytes);
      std::memcpy(expected.address, sent.address, sent.bytes);
      own->done = other->done = true;
    }
    changed_.notify_all();
    return own;
  }

  int count_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Boxes sent_, expected_;
  std::string failure_;
};

class HalfState final : public Transfer::State {
 public:
  HalfState(std::shared_ptr<Exchange> exchange, std::shared_ptr<Half> half)
      : exchange_(std::move(exchange)), half_(std::move(half)) {}
  ~HalfState() override { exchange_->give_up(*half_); }
  HalfState(const HalfState&) = delete;
  HalfState& operator=(const HalfState&) = delete;
  bool is_done() override { return exchange_->is_done(*half_); }
  void wait() override { exchange_->wait(*half_); }

 private:
  std::shared_ptr<Exchange> exchange_;
  std::shared_ptr<Half> half_;
};

class ThreadTransport final : public Transport {
 public:
  ThreadTransport(std::shared_ptr<Exchange> exchange, int rank) : exchange_(std::move(exchange)), rank_(rank) {}

  int rank() const override { return rank_; }
  int count() const override { return exchange_->count(); }
  Transfer send(int to, const Topic& topic, std::span<const std::byte> bytes) override {
    return transfer(exchange_->send({rank_, to, topic}, bytes));
  }
  Transfer receive(int from, const Topic& topic, std::span<std::byte> bytes) override {
    return transfer(exchange_->receive({from, rank_, topic}, bytes));
  }
  std::optional<Arrival> find_arrival(std::optional<int> from, const Topic& topic) override {
    return exchange_->find(from, {0, rank_, topic});
  }
  void pause() override { exchange_->pause(); }
  void announce_failure(const std::string& why) override { exchange_->fail(rank_, why); }
  void tolerate_losses() override {}  // a thread is not lost while its process lives
  bool is_lost(int /*rank*/) override { return false; }

 private:
  Transfer transfer(std::shared_ptr<Half> half) const {
    return Transfer(std::make_shared<HalfState>(exchange_, std::move(half)));
  }

  std::shared_ptr<Exchange> exchange_;  // messages that are given up may outlive the ranks
  int rank_;
};

}  // namespace

void run_thread_ranks(int count, const std::function<void(Transport&)>& body) {
  const auto exchange = std::make_shared<Exchange>(count);
  std::mutex mutex;
  std::exception_ptr first;
  const auto run = [&](int rank) {
    ThreadTransport transport(exchange, rank);
    try {
      body(transport);
    } catch (const std::exception& error) {
      const std::lock_guard lock(mutex);
      first = first ? first : std::current_exception();
      transport.announce_failure(error.what());
    }
  };
  std::vector<std::thread> threads;
  threads.reserve(static_cast<size_t>(count));
  for (int rank = 0; rank < count; ++rank) {
    threads.emplace_back(run, rank);
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  if (first) {
    std::rethrow_exception(first);
  }
}

}  // namespace heed
