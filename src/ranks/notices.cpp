#include "ranks/notices.h"

#include <algorithm>

namespace heed {
namespace {

// Short enough for MPI to send without waiting for the receiver.
constexpr size_t kLongestNotice = 2000;
// Heartbeats in the time after which silence counts as failure.
constexpr double kBeatsInSilence = 10.0;
constexpr int kChannels = 16;

}  // namespace

void require_mpi(int status, std::string_view function) {
  require<RankError>(status == 0, "ranks", "MPI failed to {} (error {})", function, status);
}

int mpi_tag(const Topic& topic) { return topic.group * kChannels + static_cast<int>(topic.channel); }

Notices::Notices(const HeedMpiTable& mpi, const RankTimes& times, double now)
    : mpi_(mpi),
      times_(times),
      rank_(mpi.rank(mpi.self)),
      count_(mpi.count(mpi.self)),
      lost_(static_cast<size_t>(count_)),
      ended_(static_cast<size_t>(count_)),
      heard_(now),
      last_beat_(now),
      last_sent_(now - times.silence) {}

void Notices::exchange() {
  receive(Channel::failure);
  outgoing_.remove_if([this](Message& message) { return is_finished(message); });
  for (auto message = incoming_.begin(); message != incoming_.end();) {
    if (is_finished(*message)) {
      read(*message);
      message = incoming_.erase(message);
    } else {
      ++message;
    }
  }
}

void Notices::beat(double now) {
  receive(Channel::heartbeat);
  const int next = neighbour(1), previous = neighbour(-1);
  const double period = times_.silence / kBeatsInSilence;
  const bool is_on_its_way = std::ranges::any_of(outgoing_, [&](const Message& message) {
    return message.other == next && message.channel == Channel::heartbeat;
  });
  if (next != rank_ && now - last_sent_ >= period && !is_on_its_way) {
    send(next, Channel::heartbeat, "h");
    last_sent_ = now;
  }
  // A process that was stopped itself cannot tell whether others were silent.
  if (now - last_beat_ > 2.0 * period) {
    heard_ = now;
  }
  last_beat_ = now;
  if (previous != rank_ && !failure_ && now - heard_ > times_.silence) {
    heard_ = now;
    announce({previous, RankFailure::Kind::silence,
              message_of_rank(previous, count_, fmt::format("has not answered for {:g} s", times_.silence))});
  }
}

void Notices::announce(const RankFailure& failure) {
  note(failure);
  std::string bytes = fmt::format("{}{}{} {}", static_cast<char>(Kind::failed), static_cast<char>(failure.kind),
                                  failure.rank, failure.message);
  bytes.resize(std::min(bytes.size(), kLongestNotice));
  send_to_all(bytes);
}

void Notices::say_printed() {
  printed_ = true;
  send_to_all(std::string(1, static_cast<char>(Kind::printed)));
}

bool Notices::say_ended() {
  if (!said_ended_) {
    said_ended_ = true;
    ended_[static_cast<size_t>(rank_)] = true;
    if (rank_ != 0) {
      send(0, Channel::failure, std::string(1, static_cast<char>(Kind::ended)));
    }
  }
  const auto has_ended = [this](size_t rank) { return ended_[rank] || lost_[rank]; };
  if (rank_ == 0 && !all_ended_) {
    all_ended_ = true;
    for (size_t rank = 0; rank < ended_.size(); ++rank) {
      all_ended_ = all_ended_ && has_ended(rank);
    }
    if (all_ended_) {
      send_to_all(std::string(1, static_cast<char>(Kind::all_ended)));
    }
  }
  return all_ended_ && outgoing_.empty();
}

void Notices::send(int to, Channel channel, std::string bytes) {
  outgoing_.push_back({std::move(bytes), nullptr, to, channel});
  Message& message = outgoing_.back();
  require_mpi(
      mpi_.send(mpi_.self, message.bytes.data(), message.bytes.size(), to, mpi_tag({0, channel}), &message.request),
      "send");
}

void Notices::send_to_all(const std::string& bytes) {
  for (int to = 0; to < count_; ++to) {
    if (to != rank_ && !is_lost(to)) {
      send(to, Channel::failure, bytes);
    }
  }
}

void Notices::receive(Channel channel) {
  const int tag = mpi_tag({0, channel});
  while (true) {
    int found = 0, from = 0;
    uint64_t size = 0;
    require_mpi(mpi_.probe(mpi_.self, kHeedMpiAnyRank, tag, &found, &from, &size), "probe");
    if (found == 0) {
      return;
    }
    incoming_.push_back({std::string(size, '\0'), nullptr, from, channel});
    Message& message = incoming_.back();
    require_mpi(mpi_.receive(mpi_.self, message.bytes.data(), size, from, tag, &message.request), "receive");
  }
}

bool Notices::is_finished(Message& message) const {
  int done = 0;
  require_mpi(mpi_.test(mpi_.self, &message.request, &done), "test");
  return done != 0;
}

void Notices::read(const Message& message) {
  if (is_lost(message.other)) {
    return;  // it was stopped for a while, and knows nothing of what has happened since
  }
  if (message.channel == Channel::heartbeat) {
    heard_ = message.other == neighbour(-1) ? last_beat_ : heard_;
    return;
  }
  const std::string& bytes = message.bytes;
  switch (static_cast<Kind>(bytes.front())) {
    case Kind::failed: {
      const size_t space = std::min(bytes.find(' '), bytes.size() - 1);
      note({std::stoi(bytes.substr(2, space - 2)), static_cast<RankFailure::Kind>(bytes[1]), bytes.substr(space + 1)});
      break;
    }
    case Kind::printed:
      printed_ = true;
      break;
    case Kind::ended:
      ended_[static_cast<size_t>(message.other)] = true;
      break;
    case Kind::all_ended:
      all_ended_ = true;
      break;
  }
}

void Notices::note(const RankFailure& failure) {
  if (tolerates_losses_ && failure.kind == RankFailure::Kind::silence && failure.rank != 0 && failure.rank != rank_) {
    lost_[static_cast<size_t>(failure.rank)] = true;
    heard_ = last_beat_;
  } else if (!failure_) {
    failure_ = failure;
    has_failed_ = true;
  }
}

int Notices::neighbour(int step) const {
  int rank = rank_;
  do {
    rank = (rank + step + count_) % count_;
  } while (rank != rank_ && is_lost(rank));
  return rank;
}

}  // namespace heed
