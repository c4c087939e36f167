#include "train/stage_exchange.h"

#include <algorithm>
#include <utility>

#include "train/view_bytes.h"

namespace heed {
namespace {

// Messages that a rank expects from each other one at a time.
constexpr size_t kOpenPieces = 32;

}  // namespace

StageExchange::StageExchange(const Ranks& ranks, std::vector<int> copies, Backend& backend, Trainables& trainables,
                             const PieceOwners& owners, DType type)
    : ranks_(ranks),
      copies_(std::move(copies)),
      backend_(backend),
      trainables_(trainables),
      owners_(owners),
      type_(type),
      pieces_(trainables.weights().all().size()),
      peers_(copies_.size()) {
  for (size_t i = 0; i < owners.pieces().size(); ++i) {
    pieces_[owners.pieces()[i].weight].push_back(i);
  }
}

void StageExchange::begin(const std::vector<Complete>& gradients, int64_t round) {
  ensure(own_.empty() && sent_.empty(), "exchange", "round {} begins before another one is finished", round);
  is_first_round_ = round == 0;
  for (const Complete& each : gradients) {
    for (const size_t piece : pieces_[each.weight]) {
      const View gradient = each.gradient.empty() ? View() : in_piece(each, piece);
      if (owners_.is_own(piece)) {
        own_.push_back({piece, gradient});
      } else if (!gradient.empty()) {
        send_piece(piece, gradient);
      }
    }
  }
  senders_ = static_cast<size_t>(std::min(std::ssize(copies_), shards_ - round * std::ssize(copies_)));
  for (size_t copy = 0; copy < senders_; ++copy) {
    while (copies_[copy] != ranks_.rank() && peers_[copy].open.size() < std::min(kOpenPieces, own_.size())) {
      receive_next(copy);
    }
  }
}

View StageExchange::in_piece(const Complete& gradient, size_t piece) const {
  const WeightPiece& range = owners_.pieces()[piece];
  ensure(gradient.gradient.contiguous(), "exchange", "{} is not in one piece", gradient.gradient);
  const int64_t first = range.first - trainables_.offset(gradient.weight);
  auto* const address = static_cast<std::byte*>(host_address(gradient.gradient));
  return {address + first * size_of(gradient.gradient.type()), gradient.gradient.type(), 1, range.count, range.count};
}

void StageExchange::send_piece(size_t piece, const View& gradient) {
  View sent = gradient;
  if (type_ != gradient.type()) {
    sent = travelling_.emplace_back(Shape{gradient.columns()}, type_).view();
    backend_.copy(gradient, sent);
  }
  sent_.push_back(ranks_.send(owners_.owner(piece), Channel::gradients, bytes_of(sent)));
}

// Of the pieces that this rank owns, the next one that no message is expected for.
void StageExchange::receive_next(size_t copy) {
  Peer& peer = peers_[copy];
  const size_t next = added_ + peer.open.size(), slot = next % kOpenPieces;
  if (peer.memory.size() == slot) {
    peer.memory.emplace_back(Shape{WeightPiece::kMaxElements}, type_);
  }
  const View memory = peer.memory[slot].view().column_range(0, owners_.pieces()[own_[next].piece].count);
  peer.open.push_back(ranks_.receive(copies_[copy], Channel::gradients, bytes_of(memory)));
}

void StageExchange::finish() {
  for (added_ = 0; added_ < own_.size();) {
    const auto [piece, gradient] = own_[added_];
    bool is_first = is_first_round_;
    for (size_t copy = 0; copy < senders_; ++copy) {
      Peer& peer = peers_[copy];
      if (copies_[copy] == ranks_.rank()) {
        add_to_sum(piece, gradient, is_first);
      } else {
        ranks_.wait(peer.open.front());
        add_to_sum(piece, peer.memory[added_ % kOpenPieces].view().column_range(0, owners_.pieces()[piece].count),
                   is_first);
        peer.open.pop_front();
      }
      is_first = false;
    }
    ++added_;
    for (size_t copy = 0; copy < senders_; ++copy) {
      if (copies_[copy] != ranks_.rank() && added_ + peers_[copy].open.size() < own_.size()) {
        receive_next(copy);
      }
    }
  }
  for (Transfer& transfer : sent_) {
    ranks_.wait(transfer);
  }
  own_.clear();
  sent_.clear();
  travelling_.clear();
  added_ = 0;
}

void StageExchange::add_to_sum(size_t piece, const View& gradient, bool is_first) {
  const WeightPiece& range = owners_.pieces()[piece];
  const View sum = trainables_.gradients().column_range(range.first, range.count);
  if (is_first) {
    backend_.copy(gradient, sum);
  } else if (gradient.type() == sum.type()) {
    backend_.add(gradient, sum);
  } else {
    if (widened_.empty()) {
      widened_ = Tensor({WeightPiece::kMaxElements}, sum.type());
    }
    const View wide = widened_.view().column_range(0, range.count);
    backend_.copy(gradient, wide);
    backend_.add(wide, sum);
  }
}

void StageExchange::share_weights() const {
  std::vector<Transfer> transfers;
  for (size_t i = 0; i < owners_.pieces().size(); ++i) {
    if (!trainables_.has_gradient(owners_.pieces()[i].weight)) {
      continue;
    }
    const std::span<std::byte> memory = bytes_of(trainables_.values(owners_.pieces()[i]));
    if (!owners_.is_own(i)) {
      transfers.push_back(ranks_.receive(owners_.owner(i), Channel::weights, memory));
      continue;
    }
    for (const int copy : copies_) {
      if (copy != ranks_.rank()) {
        transfers.push_back(ranks_.send(copy, Channel::weights, memory));
      }
    }
  }
  for (Transfer& transfer : transfers) {
    ranks_.wait(transfer);
  }
}

}  // namespace heed
