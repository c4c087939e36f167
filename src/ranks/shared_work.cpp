#include "ranks/shared_work.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <list>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "base/errors.h"

namespace heed {
namespace {

struct Chunk {
  uint64_t number = 0;  // from the first
  std::string message;  // the chunk's, or that of its results
};

// The number's bytes and the message. Nothing says that there is no chunk, or that there are no results yet.
std::string with_number(const std::optional<Chunk>& chunk) {
  std::string bytes;
  if (chunk) {
    append_value(chunk->number, bytes);
    bytes += chunk->message;
  }
  return bytes;
}

std::optional<Chunk> numbered(std::string_view bytes) {
  if (bytes.empty()) {
    return std::nullopt;
  }
  const auto number = take_value<uint64_t>(bytes);
  return Chunk{number, std::string(bytes)};
}

// What there is to do and what is done; both threads of the first rank use it.
class Chunks {
 public:
  explicit Chunks(const MessageWork& work) : work_(work) {}

  // A chunk that nobody works on.
  std::optional<Chunk> draw() {
    const std::lock_guard lock(mutex_);
    return draw_locked();
  }
  // The same, and waits while others work on chunks that may come back. None when all are done, or after a failure.
  std::optional<Chunk> wait_and_draw() {
    std::unique_lock lock(mutex_);
    while (!failure_) {
      std::optional<Chunk> chunk = draw_locked();
      if (chunk || open_.empty()) {
        return chunk;
      }
      changed_.wait(lock);
    }
    return std::nullopt;
  }

  void finish(Chunk results) {
    const std::lock_guard lock(mutex_);
    if (open_.erase(results.number) == 0) {
      return;  // from a rank that had been given up
    }
    done_.emplace(results.number, std::move(results.message));
    for (auto next = done_.begin(); next != done_.end() && next->first == taken_; next = done_.erase(next), ++taken_) {
      work_.take(next->second);
    }
    changed_.notify_all();
  }

  // Whoever worked on it is gone.
  void give_back(uint64_t number) {
    const std::lock_guard lock(mutex_);
    again_.push_back(number);
    changed_.notify_all();
  }

  void fail(std::exception_ptr failure) {
    const std::lock_guard lock(mutex_);
    failure_ = failure_ ? failure_ : std::move(failure);
    changed_.notify_all();
  }
  std::exception_ptr failure() {
    const std::lock_guard lock(mutex_);
    return failure_;
  }
  bool all_done() {
    const std::lock_guard lock(mutex_);
    return at_end_ && open_.empty();
  }

 private:
  std::optional<Chunk> draw_locked() {
    while (!again_.empty()) {
      const auto found = open_.find(again_.front());
      again_.pop_front();
      if (found != open_.end()) {
        return Chunk{found->first, found->second};
      }
    }
    std::optional<std::string> message = at_end_ ? std::nullopt : work_.next();
    at_end_ = !message;
    if (!message) {
      return std::nullopt;
    }
    const auto added = open_.emplace(drawn_++, std::move(*message)).first;
    return Chunk{added->first, added->second};
  }

  const MessageWork& work_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<uint64_t, std::string> open_;  // drawn, not done
  std::deque<uint64_t> again_;
  std::map<uint64_t, std::string> done_;  // not taken yet
  uint64_t drawn_ = 0, taken_ = 0;
  bool at_end_ = false;
  std::exception_ptr failure_;
};

// Deals out to the other ranks.
class Dealer {
 public:
  Dealer(const Ranks& ranks, Chunks& chunks)
      : ranks_(ranks), chunks_(chunks), workers_(static_cast<size_t>(ranks.count())) {}

  void run() {
    while (!is_over() && !chunks_.failure()) {
      while (const auto message = ranks_.try_receive_any(Channel::results)) {
        receive(*message);
      }
      for (int rank = 1; rank < ranks_.count(); ++rank) {
        serve(rank, workers_[static_cast<size_t>(rank)]);
      }
      sent_.remove_if([](Sent& sent) { return sent.transfer.is_done(); });
      ranks_.pause();
    }
    keep_what_lost_ranks_may_read();
  }

 private:
  enum class State : uint8_t { working, asking, ended };
  struct Worker {
    State state = State::working;
    std::optional<uint64_t> chunk;
  };
  struct Sent {
    std::string bytes;
    Transfer transfer;
  };

  bool is_over() const {
    for (int rank = 1; rank < ranks_.count(); ++rank) {
      const Worker& worker = workers_[static_cast<size_t>(rank)];
      if (worker.state != State::ended && (worker.chunk || !ranks_.is_lost(rank))) {
        return false;
      }
    }
    return true;
  }

  void receive(const Ranks::Message& message) {
    Worker& worker = workers_[static_cast<size_t>(message.from)];
    worker = {State::asking, std::nullopt};
    if (std::optional<Chunk> results = numbered(message.bytes)) {
      chunks_.finish(std::move(*results));
    }
  }

  void serve(int rank, Worker& worker) {
    if (ranks_.is_lost(rank)) {
      if (worker.chunk) {
        chunks_.give_back(*std::exchange(worker.chunk, std::nullopt));
      }
      return;
    }
    if (worker.state != State::asking) {
      return;
    }
    const std::optional<Chunk> chunk = chunks_.draw();
    if (!chunk && !chunks_.all_done()) {
      return;  // those that are being worked on may come back
    }
    worker = {chunk ? State::working : State::ended, chunk ? std::optional(chunk->number) : std::nullopt};
    sent_.push_back({with_number(chunk), {}});
    sent_.back().transfer = ranks_.send(rank, Channel::work, std::as_bytes(std::span(sent_.back().bytes)));
  }

  // A message to a rank that is lost may never end, and its memory must stay until then: as long as the process.
  void keep_what_lost_ranks_may_read() {
    static std::list<Sent> kept;
    sent_.remove_if([](Sent& sent) { return sent.transfer.is_done(); });
    kept.splice(kept.end(), sent_);
  }

  const Ranks& ranks_;
  Chunks& chunks_;
  std::vector<Worker> workers_;
  std::list<Sent> sent_;
};

void deal_and_work(const Ranks& ranks, const MessageWork& work) {
  Chunks chunks(work);
  std::thread dealing([&] {
    try {
      Dealer(ranks, chunks).run();
    } catch (...) {
      chunks.fail(std::current_exception());
    }
  });
  try {
    while (const std::optional<Chunk> chunk = chunks.wait_and_draw()) {
      chunks.finish({chunk->number, work.work(chunk->message)});
    }
  } catch (...) {
    chunks.fail(std::current_exception());
  }
  dealing.join();
  if (const std::exception_ptr failure = chunks.failure()) {
    std::rethrow_exception(failure);
  }
}

void work_for_first(const Ranks& ranks, const MessageWork& work) {
  std::optional<Chunk> results;
  while (true) {
    ranks.send_text(0, Channel::results, with_number(results));
    const std::optional<Chunk> chunk = numbered(ranks.receive_from(0, Channel::work).bytes);
    if (!chunk) {
      return;
    }
    results = Chunk{chunk->number, work.work(chunk->message)};
  }
}

}  // namespace

void share_messages(const Ranks& ranks, const MessageWork& work) {
  ranks.tolerate_losses();
  if (ranks.is_first()) {
    deal_and_work(ranks, work);
  } else {
    work_for_first(ranks, work);
  }
}

}  // namespace heed
