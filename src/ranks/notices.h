// What ranks tell each other about the job itself, over MPI: that they are alive, that one has failed, that this has
// been printed, that they have finished.
#pragma once

#include <atomic>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "ranks/mpi/mpi_table.h"
#include "ranks/rank_failure.h"
#include "ranks/transport.h"

namespace heed {

// Throws a RankError when a function of MPI failed.
void require_mpi(int status, std::string_view function);

// The tag of the messages of a topic.
int mpi_tag(const Topic& topic);

// One thread at a time; whoever calls holds the lock on MPI. Only has_failed() and tolerates_losses() need none.
//
// Each rank sends a heartbeat to the next one and listens to the one before it. Ranks that are lost are passed over.
class Notices {
 public:
  Notices(const HeedMpiTable& mpi, const RankTimes& times, double now);

  // Receives what has come, and goes on sending. Every call lets MPI move data, too.
  void exchange();
  // At least ten times in `times.silence`. Sends a heartbeat when it is due, and announces a rank that is silent.
  void beat(double now);

  // The job has failed, unless it goes on without that rank.
  void note(const RankFailure& failure);
  // The same, and tells all others.
  void announce(const RankFailure& failure);
  void say_printed();
  // To be called again until it returns true: all have finished.
  bool say_ended();

  const std::optional<RankFailure>& failure() const { return failure_; }
  bool has_failed() const { return has_failed_; }
  bool is_printed() const { return printed_; }

  // A rank that falls silent is lost, and the job goes on without it; except the first.
  void tolerate_losses() { tolerates_losses_ = true; }
  bool tolerates_losses() const { return tolerates_losses_; }
  bool is_lost(int rank) const { return lost_[static_cast<size_t>(rank)]; }

 private:
  enum class Kind : char { failed = 'f', printed = 'p', ended = 'e', all_ended = 'a' };
  struct Message {
    std::string bytes;
    void* request = nullptr;
    int other = 0;  // whom it goes to or comes from
    Channel channel = Channel::failure;
  };

  void send(int to, Channel channel, std::string bytes);
  void send_to_all(const std::string& bytes);
  void receive(Channel channel);
  bool is_finished(Message& message) const;
  void read(const Message& message);
  // The nearest rank that is not lost, upwards or downwards.
  int neighbour(int step) const;

  const HeedMpiTable& mpi_;
  RankTimes times_;
  int rank_, count_;
  std::list<Message> outgoing_, incoming_;  // MPI knows their addresses
  std::optional<RankFailure> failure_;
  std::vector<bool> lost_, ended_;
  std::atomic<bool> has_failed_ = false, tolerates_losses_ = false;
  bool printed_ = false, said_ended_ = false, all_ended_ = false;
  double heard_, last_beat_, last_sent_;
};

}  // namespace heed
