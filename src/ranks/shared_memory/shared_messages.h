// Messages between ranks on one machine, through memory that their processes share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "ranks/ranks.h"
#include "ranks/shared_memory/shared_ring.h"

namespace heed {

enum class MemorySharing : uint8_t { off, on };

// A sender copies a message into the shared memory, in parts, as far as there is room, and the receiver copies it out.
// Both copies together take less of a processor's time than one by the kernel from another process's memory. Messages
// from one rank to another with one tag are received in the order in which they were sent, and each with its size.
//
// Nothing moves but in these methods, which one thread at a time calls.
class SharedMessages {
 public:
  // Where it goes to or comes from, and one of the two memories.
  struct Message {
    int rank = 0, tag = 0;
    std::span<const std::byte> sent;
    std::span<std::byte> received;
    bool has_ended = false;

    bool is_received() const { return !received.empty(); }
  };

  // Collective. None where no rank of this machine shares memory with this one.
  static std::unique_ptr<SharedMessages> connect(const Ranks& job, MemorySharing sharing);

  bool sends_to(int rank) const { return outgoing_.contains(rank); }
  bool receives_from(int rank) const { return incoming_.contains(rank); }

  // The message and its memory stay until it has ended or is abandoned.
  void begin(Message& message);
  // Moves what can be moved of all messages.
  void advance();
  void abandon(Message& message);

 private:
  // The messages of one ring, in order; `done` bytes of the first one have moved.
  struct Queue {
    std::optional<SharedRing> ring;  // none: the sender has not made it yet
    std::deque<Message*> open;
    size_t done = 0;
    bool is_broken = false;  // a message was abandoned when a part of it had moved
  };

  using Queues = std::map<std::pair<int, int>, Queue>;  // by rank and tag

  SharedMessages() = default;
  Queue& queue_of(const Message& message);
  void advance(Queue& queue);

  std::map<int, SharedSection> outgoing_, incoming_;  // by rank
  Queues sending_, receiving_;
};

}  // namespace heed
