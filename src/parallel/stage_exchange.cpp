#include "parallel/stage_exchange.h"

#include <algorithm>
#include <utility>

#include "tensor/view_bytes.h"

namespace heed {

StageExchange::StageExchange(const Ranks& ranks, std::vector<int> copies, Backend& backend, Trainables& trainables,
                             const SliceOwners& owners, DType type)
    : ranks_(ranks),
      copies_(std::move(copies)),
      backend_(backend),
      trainables_(trainables),
      owners_(owners),
      type_(type),
      sums_(backend),
      slices_(trainables.weights().all().size()),
      open_slices_(open_slices(static_cast<int>(copies_.size()))),
      peers_(copies_.size()) {
  for (size_t i = 0; i < owners.slices().size(); ++i) {
    slices_[owners.slices()[i].weight].push_back(i);
  }
}

void StageExchange::begin(const std::vector<Complete>& gradients, int64_t round) {
  ensure(own_.empty() && sent_.empty(), "exchange", "round {} begins before another one is finished", round);
  is_first_round_ = round == 0;
  if (is_in_place(round)) {
    return;
  }
  for (const Complete& each : gradients) {
    for (const size_t slice : slices_[each.weight]) {
      const View gradient = each.gradient.empty() ? View() : in_slice(each, slice);
      if (owners_.is_own(slice)) {
        own_.push_back({slice, gradient});
      } else if (!gradient.empty()) {
        send_slice(slice, gradient);
      }
    }
  }
  senders_ = static_cast<size_t>(std::min(std::ssize(copies_), shards_ - round * std::ssize(copies_)));
  for (size_t copy = 0; copy < senders_; ++copy) {
    while (copies_[copy] != ranks_.rank() && peers_[copy].open.size() < std::min(open_slices_, own_.size())) {
      receive_next(copy);
    }
  }
}

View StageExchange::in_slice(const Complete& gradient, size_t slice) const {
  const WeightSlice& range = owners_.slices()[slice];
  ensure(gradient.gradient.contiguous(), "exchange", "{} is not in one slice", gradient.gradient);
  const int64_t first = range.first - trainables_.offset(gradient.weight);
  auto* const address = static_cast<std::byte*>(host_address(gradient.gradient));
  return {address + first * size_of(gradient.gradient.type()), gradient.gradient.type(), 1, range.count, range.count};
}

void StageExchange::send_slice(size_t slice, const View& gradient) {
  View sent = gradient;
  if (type_ != gradient.type()) {
    sent = wire_copies_.emplace_back(Shape{gradient.columns()}, type_).view();
    backend_.copy(gradient, sent);
  }
  sent_.push_back(ranks_.send(owners_.owner(slice), Channel::gradients, bytes_of(sent)));
}

// Expects the next message of a copy: with the first of this rank's slices that none is expected for yet.
void StageExchange::receive_next(size_t copy) {
  Peer& peer = peers_[copy];
  const size_t next = added_ + peer.open.size(), slot = next % open_slices_;
  if (peer.memory.size() == slot) {
    peer.memory.emplace_back(Shape{WeightSlice::kMaxElements}, type_);
  }
  const View memory = peer.memory[slot].view().column_range(0, owners_.slices()[own_[next].slice].count);
  peer.open.push_back(ranks_.receive(copies_[copy], Channel::gradients, bytes_of(memory)));
}

void StageExchange::finish() {
  for (added_ = 0; added_ < own_.size();) {
    const auto [slice, gradient] = own_[added_];
    const WeightSlice& range = owners_.slices()[slice];
    std::vector<ConstView> shards;
    for (size_t copy = 0; copy < senders_; ++copy) {
      Peer& peer = peers_[copy];
      if (copies_[copy] == ranks_.rank()) {
        shards.push_back(gradient);
        continue;
      }
      ranks_.wait(peer.open.front());
      peer.open.pop_front();
      shards.push_back(peer.memory[added_ % open_slices_].view().column_range(0, range.count));
    }
    const View sum = trainables_.gradients().column_range(range.first, range.count);
    is_first_round_ ? sums_.set(sum, shards) : sums_.add(sum, shards);
    ++added_;
    for (size_t copy = 0; copy < senders_; ++copy) {
      if (copies_[copy] != ranks_.rank() && added_ + peers_[copy].open.size() < own_.size()) {
        receive_next(copy);
      }
    }
  }
  ranks_.wait_for_all(sent_);
  own_.clear();
  wire_copies_.clear();
  added_ = 0;
}

}  // namespace heed
