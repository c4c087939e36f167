// A group of ranks that work on one job together, and what they do as a group.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ranks/transport.h"

namespace heed {

// Ranks are numbered within the group. All ranks of a group call its collective operations in the same order.
class Ranks {
 public:
  // The only rank of a job.
  Ranks() = default;
  // All ranks of the job.
  explicit Ranks(Transport& transport);

  int rank() const { return rank_; }
  int count() const { return static_cast<int>(members_.size()); }
  bool is_first() const { return rank_ == 0; }
  bool is_alone() const { return count() == 1; }
  // As messages name it: "rank 3 of 8", of the whole job.
  std::string name_of(int rank) const;

  // Some of this group's ranks, this one among them. Groups that share ranks have different numbers.
  Ranks group(std::vector<int> members, int number) const;

  Transfer send(int to, Channel channel, std::span<const std::byte> bytes) const;
  Transfer receive(int from, Channel channel, std::span<std::byte> bytes) const;
  // A message of any size, from any rank. Waits for it.
  struct Message {
    int from = 0;
    std::string bytes;
  };
  Message receive_any(Channel channel) const;
  Message receive_from(int from, Channel channel) const;
  // None when no message has come.
  std::optional<Message> try_receive_any(Channel channel) const;
  // Returns when the message has left.
  void send_text(int to, Channel channel, std::string_view text) const;

  // Collective. What the first rank has goes to all others.
  void broadcast(std::span<std::byte> bytes) const;
  std::string broadcast_text(const std::string& text) const;
  // Collective. Everybody's text, in the order of the ranks; on all ranks.
  std::vector<std::string> all_texts(const std::string& text) const;
  // Collective. Everybody's bytes, as many from each, one rank's after the other's.
  void all_gather(std::span<const std::byte> own, std::span<std::byte> all) const;
  // Collective. Returns when all have come here.
  void barrier() const;

  // Seconds that this rank waited for others, in these operations and in waiting().
  double seconds_waited() const { return *waited_; }
  int64_t bytes_sent() const { return *sent_; }
  // Waits for a transfer, and counts the time.
  void wait(Transfer& transfer) const;
  // Leaves none.
  void wait_for_all(std::vector<Transfer>& transfers) const;

  // Tells all other ranks of the job.
  void announce_failure(const std::string& why) const;

  // From now on, a rank that falls silent is lost instead of ending the job; unless it is the job's first.
  void tolerate_losses() const;
  bool is_lost(int rank) const;
  // Collective among those that are left: a group of them, or this one when no rank is lost. `number` is the new
  // group's.
  Ranks remaining(int number) const;
  // Does nothing for a moment, or until a message comes.
  void pause() const;

 private:
  Message take(std::optional<int> from, Channel channel) const;
  std::string call_the_roll() const;
  Message receive_arrival(const Arrival& arrival, Channel channel) const;
  int number_in_job(int member) const { return members_[static_cast<size_t>(member)]; }

  Transport* transport_ = nullptr;  // null: the rank is alone
  std::vector<int> members_{0};     // their ranks in the job
  int rank_ = 0, number_ = 0;
  // Counted together with the groups of this group.
  std::shared_ptr<double> waited_ = std::make_shared<double>(0.0);
  std::shared_ptr<int64_t> sent_ = std::make_shared<int64_t>(0);
};

// Memory as bytes.
template <class T>
std::span<std::byte> bytes_of(std::span<T> values) {
  return std::as_writable_bytes(values);
}

}  // namespace heed
