// Ranks that are processes which mpirun or a batch system started.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "ranks/notices.h"
#include "ranks/shared_memory/shared_messages.h"
#include "ranks/transport.h"

namespace heed {

// MPI moves data only while somebody calls it. A thread of the transport does that while messages are on their way and
// nobody waits for them; otherwise it sleeps, but for heartbeats. When a rank has failed, all operations throw a
// RankError that names it.
class MpiTransport final : public Transport {
 public:
  // What is done with a failure while the thread that computes does not come to an operation in time.
  using WhenBusy = std::function<void(const RankFailure&)>;

  // `mpi` has been started; the caller finishes it, after the transport is gone.
  MpiTransport(const HeedMpiTable& mpi, const RankTimes& times, WhenBusy when_busy);
  ~MpiTransport() override;
  MpiTransport(const MpiTransport&) = delete;
  MpiTransport& operator=(const MpiTransport&) = delete;

  int rank() const override { return rank_; }
  int count() const override { return count_; }
  Transfer send(int to, const Topic& topic, std::span<const std::byte> bytes) override;
  Transfer receive(int from, const Topic& topic, std::span<std::byte> bytes) override;
  std::optional<Arrival> find_arrival(std::optional<int> from, const Topic& topic) override;
  void pause() override;
  void announce_failure(const std::string& why) override;
  void tolerate_losses() override;
  bool is_lost(int rank) override;
  // Without waiting for the lock on MPI, which threads that wait for messages take again and again.
  bool tolerates_losses() const { return notices_.tolerates_losses(); }
  bool has_failed() const { return notices_.has_failed(); }

  // From now on, large messages between ranks that share memory go through it. All ranks call it before they send one.
  void share_memory(std::unique_ptr<SharedMessages> messages);

  // How a job ends. Whether the caller may end it; otherwise `when_busy` is doing so.
  bool begin_end();
  std::optional<RankFailure> failure();
  void say_printed();
  // Whether another rank has said so within the time.
  bool wait_until_printed(double seconds);
  // Says that this rank has finished. Whether all have; false when one fails.
  bool wait_until_all_ended();
  // The same after a failure, within `times.ending`.
  bool wait_until_all_ended_after_failure();

 private:
  class Open;  // a transfer
  // The messages to one rank on one channel, in their order: those that MPI has, and those that wait here.
  struct Outbox {
    std::deque<Open*> begun, waiting;
    size_t begun_bytes = 0;
    int tag = 0;
  };

  void begin_shared(Open& transfer, const SharedMessages::Message& message);
  void run();
  void end_if_busy(std::unique_lock<std::mutex>& lock, double now);
  template <class Call>
  void call_mpi(Call call);
  template <class Condition>
  bool wait_until(double seconds, Condition condition);
  void check_failure() const;
  int tag(const Topic& topic) const;
  bool test(Open& transfer);
  bool has_ended(Open& transfer) const;
  void count_open();
  void close(Open& transfer);
  void advance(Outbox& outbox);
  void advance_waiting();
  void leave_outbox(Open& transfer);
  void wait(Open& transfer);
  void abandon(Open& transfer);

  const HeedMpiTable& mpi_;
  RankTimes times_;
  WhenBusy when_busy_;
  int rank_, count_, largest_tag_;

  std::mutex mutex_;  // of MPI, and of all that follows
  std::condition_variable changed_;
  Notices notices_;
  std::map<std::pair<int, int>, Outbox> outboxes_;  // by rank and tag
  std::unique_ptr<SharedMessages> shared_;          // null: none
  int open_ = 0;
  bool idle_ = false, stopping_ = false, ending_ = false;
  bool broken_ = false;  // memory of a message on its way is gone: MPI must not move data any more
  double failed_since_ = 0.0;
  int pauses_ = 0;
  std::thread thread_;
};

}  // namespace heed
