#include "parallel/gradient_exchange.h"

#include <algorithm>
#include <utility>

#include "tensor/view_bytes.h"

namespace heed {

GradientExchange::GradientExchange(const Ranks& ranks, Backend& backend, Trainables& trainables,
                                   const SliceOwners& owners, DType type)
    : ranks_(ranks),
      backend_(backend),
      trainables_(trainables),
      owners_(owners),
      type_(type),
      sums_(backend),
      peers_(static_cast<size_t>(ranks.count())),
      open_slices_(open_slices(ranks.count())) {
  int64_t largest = 0;
  for (size_t i = 0; i < owners.slices().size(); ++i) {
    if (owners.is_own(i)) {
      own_.push_back(i);
      largest = std::max(largest, owners.slices()[i].count);
    }
  }
  for (size_t r = 0; r < peers_.size(); ++r) {
    peers_[r].rank = static_cast<int>(r);
    for (size_t i = 0; i < open_slices_ && static_cast<int>(r) != ranks.rank(); ++i) {
      peers_[r].memory.emplace_back(Shape{largest}, type);
    }
  }
}

// Messages of the previous round still read the memory that this shard's gradient is written to.
void GradientExchange::begin_round(int64_t shards) {
  finish_round();
  shards_ = shards;
  next_to_send_ = added_ = 0;
  is_open_ = true;
  if (has_shard()) {
    trainables_.begin_exchanged_shard();
    if (type_ != trainables_.gradients().type() && rounded_.empty()) {
      rounded_ = Tensor({trainables_.gradients().elements()}, type_);
    }
  }
  for (Peer& peer : peers_) {
    post_receives(peer);
  }
}

void GradientExchange::advance() {
  if (!expected_.empty()) {
    send_finished();
  }
  while (add_next()) {
  }
}

void GradientExchange::end_round() {
  if (has_shard()) {
    trainables_.finish_exchanged_shard(backend_);
    expect_as_many_writes();
    for (; next_to_send_ < owners_.slices().size(); ++next_to_send_) {
      send_slice(next_to_send_);
    }
  }
  while (add_next()) {
  }
}

void GradientExchange::finish_update() { finish_round(); }

void GradientExchange::finish_round() {
  if (!is_open_) {
    return;
  }
  while (added_ < own_.size()) {
    for (Peer& peer : peers_) {
      if (!peer.open.empty()) {
        ranks_.wait(peer.open.front());
      }
    }
    ensure(add_next(), "exchange", "slice {} is not complete", added_);
  }
  ranks_.wait_for_all(sent_);
  is_open_ = false;
  ++rounds_;
}

void GradientExchange::expect_as_many_writes() {
  const std::deque<Weight>& weights = trainables_.weights().all();
  const bool is_first = expected_.empty();
  expected_.resize(weights.size());
  for (const WeightSlice& slice : owners_.slices()) {
    const int64_t writes = weights[slice.weight].trainable().writes();
    ensure(is_first || writes == expected_[slice.weight], "exchange",
           "the gradient of {} was written {} times, {} times before", weights[slice.weight].name(), writes,
           expected_[slice.weight]);
    expected_[slice.weight] = writes;
  }
}

bool GradientExchange::is_finished(size_t slice) const {
  const size_t weight = owners_.slices()[slice].weight;
  return trainables_.weights().all()[weight].trainable().writes() == expected_[weight];
}

void GradientExchange::send_finished() {
  while (has_shard() && next_to_send_ < owners_.slices().size() && is_finished(next_to_send_)) {
    send_slice(next_to_send_++);
  }
}

View GradientExchange::gradient_of(size_t slice) const {
  const WeightSlice& range = owners_.slices()[slice];
  const View flat = rounded_.empty() ? trainables_.exchanged_shard() : rounded_.view();
  return flat.column_range(range.first, range.count);
}

void GradientExchange::send_slice(size_t slice) {
  const WeightSlice& range = owners_.slices()[slice];
  if (!rounded_.empty()) {
    backend_.copy(trainables_.exchanged_shard().column_range(range.first, range.count), gradient_of(slice));
  }
  if (!owners_.is_own(slice)) {
    sent_.push_back(ranks_.send(owners_.owner(slice), Channel::gradients, bytes_of(gradient_of(slice))));
  }
}

void GradientExchange::post_receives(Peer& peer) {
  if (peer.rank == ranks_.rank() || peer.rank >= shards_) {
    return;
  }
  while (peer.open.size() < open_slices_ && added_ + peer.open.size() < own_.size()) {
    const size_t next = added_ + peer.open.size();
    const View memory = peer.memory[next % open_slices_].view().column_range(0, owners_.slices()[own_[next]].count);
    peer.open.push_back(ranks_.receive(peer.rank, Channel::gradients, bytes_of(memory)));
  }
}

// The next own slice, if all shards of the round have finished it.
bool GradientExchange::add_next() {
  if (added_ == own_.size() || (has_shard() && next_to_send_ <= own_[added_])) {
    return false;
  }
  for (Peer& peer : peers_) {
    if (!peer.open.empty() && !peer.open.front().is_done()) {
      return false;
    }
  }
  const size_t slice = own_[added_];
  const WeightSlice& range = owners_.slices()[slice];
  const View sum = trainables_.gradients().column_range(range.first, range.count);
  std::vector<ConstView> shards;
  for (int64_t shard = 0; shard < shards_; ++shard) {
    const Peer& peer = peers_[static_cast<size_t>(shard)];
    const bool is_mine = peer.rank == ranks_.rank();
    shards.push_back(is_mine ? gradient_of(slice)
                             : peer.memory[added_ % open_slices_].view().column_range(0, range.count));
  }
  rounds_ == 0 ? sums_.set(sum, shards) : sums_.add(sum, shards);
  ++added_;
  for (Peer& peer : peers_) {
    if (!peer.open.empty()) {
      peer.open.pop_front();
    }
    post_receives(peer);
  }
  return true;
}

}  // namespace heed
