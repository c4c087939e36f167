// How the ranks of a job exchange messages: between processes that MPI started, or between threads of one process.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace heed {

// Messages between two ranks on one channel arrive in the order in which they were sent.
enum class Channel : uint8_t {
  heartbeat,
  failure,
  control,      // decisions of the first rank
  sums,         // losses and norms
  gradients,    // slices of a shard's gradient
  weights,      // slices of what the optimizer updated
  state,        // slices of the optimizer's state, for a checkpoint
  activations,  // between stages of a pipeline, towards the last
  derivatives,  // and back
  partial,      // sums over the parts of a matrix
  work,         // a chunk of text to decode, or that none is left
  results,
  roll,  // who is still there
};

// What a message is about and among which ranks: `group` keeps the messages of different groups apart.
struct Topic {
  int group = 0;
  Channel channel = Channel::control;
  auto operator<=>(const Topic&) const = default;  // NOLINT(modernize-use-nullptr): mistakes the default's zero
};

// A message on its way. The memory that it is read from or written to must stay until the transfer is done.
class Transfer {
 public:
  class State {
   public:
    virtual ~State() = default;
    virtual bool is_done() = 0;  // makes progress; throws RankError when the job has failed
    virtual void wait() = 0;
  };

  Transfer() = default;
  explicit Transfer(std::shared_ptr<State> state) : state_(std::move(state)) {}

  bool is_done() {
    if (state_ && state_->is_done()) {
      state_.reset();
    }
    return !state_;
  }
  void wait() {
    if (state_) {
      state_->wait();
      state_.reset();
    }
  }

 private:
  std::shared_ptr<State> state_;
};

// A message that has arrived and is not yet received.
struct Arrival {
  int from = 0;
  size_t bytes = 0;
};

// All methods may be called by one thread at a time, and throw RankError when another rank has failed.
class Transport {
 public:
  static constexpr int kMaxGroups = 1 << 16;

  virtual ~Transport() = default;
  virtual int rank() const = 0;
  virtual int count() const = 0;

  virtual Transfer send(int to, const Topic& topic, std::span<const std::byte> bytes) = 0;
  // The message must have exactly this size.
  virtual Transfer receive(int from, const Topic& topic, std::span<std::byte> bytes) = 0;
  // A message that has arrived from any rank, or from this one. Does not wait.
  virtual std::optional<Arrival> find_arrival(std::optional<int> from, const Topic& topic) = 0;
  // Does nothing for a moment, or until a message comes.
  virtual void pause() = 0;

  // Tells all others that this rank fails, and why; they throw it as a RankError.
  virtual void announce_failure(const std::string& why) = 0;

  // From now on, a rank that falls silent is lost, and the job goes on without it; unless it is the first.
  virtual void tolerate_losses() = 0;
  virtual bool is_lost(int rank) = 0;
};

}  // namespace heed
