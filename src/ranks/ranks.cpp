#include "ranks/ranks.h"

#include <algorithm>
#include <numeric>

#include "base/errors.h"
#include "base/system/clock.h"

namespace heed {
namespace {

// Larger memory is broadcast in parts, so that a rank passes on what it has while it receives the rest.
constexpr size_t kBroadcastPart = size_t{1} << 20;

std::span<std::byte> writable(std::string& text) { return std::as_writable_bytes(std::span(text)); }
std::span<const std::byte> readable(std::string_view text) { return std::as_bytes(std::span(text)); }

}  // namespace

Ranks::Ranks(Transport& transport) : transport_(&transport), members_(static_cast<size_t>(transport.count())) {
  std::iota(members_.begin(), members_.end(), 0);
  rank_ = transport.rank();
}

Ranks Ranks::group(std::vector<int> members, int number) const {
  ensure(number > 0 && number < Transport::kMaxGroups, "ranks", "a group with number {}", number);
  const auto own = std::ranges::find(members, rank_);
  ensure(own != members.end(), "ranks", "rank {} is not in its group", rank_);
  Ranks some = *this;
  some.rank_ = static_cast<int>(own - members.begin());
  some.number_ = number;
  some.members_.clear();
  std::ranges::transform(members, std::back_inserter(some.members_), [&](int member) { return number_in_job(member); });
  return some;
}

std::string Ranks::name_of(int rank) const {
  return fmt::format("rank {} of {}", number_in_job(rank), transport_ == nullptr ? 1 : transport_->count());
}

Transfer Ranks::send(int to, Channel channel, std::span<const std::byte> bytes) const {
  *sent_ += static_cast<int64_t>(bytes.size());
  return transport_->send(number_in_job(to), {number_, channel}, bytes);
}

Transfer Ranks::receive(int from, Channel channel, std::span<std::byte> bytes) const {
  return transport_->receive(number_in_job(from), {number_, channel}, bytes);
}

void Ranks::wait(Transfer& transfer) const {
  if (!transfer.is_done()) {
    const double began = seconds_now();
    transfer.wait();
    *waited_ += seconds_now() - began;
  }
}

void Ranks::wait_for_all(std::vector<Transfer>& transfers) const {
  for (Transfer& transfer : transfers) {
    wait(transfer);
  }
  transfers.clear();
}

Ranks::Message Ranks::take(std::optional<int> from, Channel channel) const {
  std::optional<Arrival> arrival = transport_->find_arrival(from, {number_, channel});
  if (!arrival) {
    const double began = seconds_now();
    while (!(arrival = transport_->find_arrival(from, {number_, channel}))) {
      require<RankError>(!from || !transport_->is_lost(*from), fmt::format("rank {}", from.value_or(0)),
                         "was lost while others waited for it");
      transport_->pause();
    }
    *waited_ += seconds_now() - began;
  }
  return receive_arrival(*arrival, channel);
}

Ranks::Message Ranks::receive_arrival(const Arrival& arrival, Channel channel) const {
  std::string bytes(arrival.bytes, '\0');
  Transfer transfer = transport_->receive(arrival.from, {number_, channel}, writable(bytes));
  wait(transfer);
  const auto member = std::ranges::find(members_, arrival.from);
  ensure(member != members_.end(), "ranks", "a message from rank {}, which is not in the group", arrival.from);
  return {static_cast<int>(member - members_.begin()), std::move(bytes)};
}

std::optional<Ranks::Message> Ranks::try_receive_any(Channel channel) const {
  const std::optional<Arrival> arrival = transport_->find_arrival(std::nullopt, {number_, channel});
  return arrival ? std::optional(receive_arrival(*arrival, channel)) : std::nullopt;
}

Ranks::Message Ranks::receive_any(Channel channel) const { return take(std::nullopt, channel); }
Ranks::Message Ranks::receive_from(int from, Channel channel) const { return take(number_in_job(from), channel); }

void Ranks::send_text(int to, Channel channel, std::string_view text) const {
  Transfer transfer = send(to, channel, readable(text));
  wait(transfer);
}

// A binomial tree: rank r has its data from r minus its lowest set bit, and passes it on to r plus each lower bit.
void Ranks::broadcast(std::span<std::byte> bytes) const {
  for (size_t begin = 0; count() > 1 && begin < bytes.size(); begin += kBroadcastPart) {
    const std::span<std::byte> part = bytes.subspan(begin, std::min(kBroadcastPart, bytes.size() - begin));
    int bit = 1;
    for (; bit < count(); bit <<= 1) {
      if ((rank_ & bit) != 0) {
        Transfer transfer = receive(rank_ - bit, Channel::control, part);
        wait(transfer);
        break;
      }
    }
    std::vector<Transfer> sent;
    for (bit >>= 1; bit > 0; bit >>= 1) {
      if (rank_ + bit < count()) {
        sent.push_back(send(rank_ + bit, Channel::control, part));
      }
    }
    wait_for_all(sent);
  }
}

std::string Ranks::broadcast_text(const std::string& text) const {
  uint64_t size = text.size();
  broadcast(std::as_writable_bytes(std::span(&size, 1)));
  std::string all = text;
  all.resize(size);
  broadcast(writable(all));
  return all;
}

std::vector<std::string> Ranks::all_texts(const std::string& text) const {
  std::vector<std::string> texts(members_.size());
  texts[static_cast<size_t>(rank_)] = text;
  if (is_alone()) {
    return texts;
  }
  if (is_first()) {
    for (int from = 1; from < count(); ++from) {
      texts[static_cast<size_t>(from)] = receive_from(from, Channel::control).bytes;
    }
  } else {
    send_text(0, Channel::control, text);
  }
  for (std::string& each : texts) {
    each = broadcast_text(each);
  }
  return texts;
}

void Ranks::all_gather(std::span<const std::byte> own, std::span<std::byte> all) const {
  ensure(all.size() == own.size() * members_.size(), "ranks", "{} bytes for {} each of {} ranks", all.size(),
         own.size(), count());
  std::vector<Transfer> transfers;
  for (int other = 0; other < count(); ++other) {
    const std::span<std::byte> part = all.subspan(static_cast<size_t>(other) * own.size(), own.size());
    if (other == rank_) {
      std::ranges::copy(own, part.begin());
    } else {
      transfers.push_back(receive(other, Channel::sums, part));
      transfers.push_back(send(other, Channel::sums, own));
    }
  }
  wait_for_all(transfers);
}

void Ranks::barrier() const { (void)all_texts(""); }

void Ranks::announce_failure(const std::string& why) const {
  if (transport_ != nullptr) {
    transport_->announce_failure(why);
  }
}

void Ranks::tolerate_losses() const {
  if (transport_ != nullptr) {
    transport_->tolerate_losses();
  }
}

bool Ranks::is_lost(int rank) const { return transport_ != nullptr && transport_->is_lost(number_in_job(rank)); }

Ranks Ranks::remaining(int number) const {
  if (is_alone()) {
    return *this;
  }
  std::string here;  // for each rank, whether it is there
  if (is_first()) {
    here = call_the_roll();
    for (int rank = 1; rank < count(); ++rank) {
      if (here[static_cast<size_t>(rank)] != 0) {
        send_text(rank, Channel::roll, here);
      }
    }
  } else {
    send_text(0, Channel::roll, "");
    here = receive_from(0, Channel::roll).bytes;
  }
  std::vector<int> members;
  for (int rank = 0; rank < count(); ++rank) {
    if (here[static_cast<size_t>(rank)] != 0) {
      members.push_back(rank);
    }
  }
  return static_cast<int>(members.size()) == count() ? *this : group(std::move(members), number);
}

// Until each rank has answered or is lost.
std::string Ranks::call_the_roll() const {
  const double began = seconds_now();
  std::string here(members_.size(), '\0');
  here.front() = 1;
  const auto is_missing = [&](int rank) { return here[static_cast<size_t>(rank)] == 0 && !is_lost(rank); };
  for (int rank = 1; rank < count();) {
    if (const std::optional<Message> message = try_receive_any(Channel::roll)) {
      here[static_cast<size_t>(message->from)] = 1;
    } else if (is_missing(rank)) {
      transport_->pause();
    } else {
      ++rank;
    }
  }
  *waited_ += seconds_now() - began;
  return here;
}

void Ranks::pause() const { transport_->pause(); }

}  // namespace heed
