#include "train/meetings.h"

#include <algorithm>
#include <array>

#include "train/piece_owners.h"
#include "train/view_bytes.h"

namespace heed {
namespace {

// Pieces whose differences a rank expects at a time.
constexpr size_t kOpenPieces = 8;

// The differences of the pieces that a rank owns, as they come from the others, summed in the order of the ranks.
class PieceSums {
 public:
  struct Types {
    DType traveling, sum;
  };
  PieceSums(const Ranks& ranks, Backend& backend, const PieceOwners& owners, Types types)
      : ranks_(ranks),
        backend_(backend),
        pieces_(owners.pieces()),
        sum_({WeightPiece::kMaxElements}, types.sum),
        widened_({WeightPiece::kMaxElements}, types.sum) {
    for (size_t i = 0; i < pieces_.size(); ++i) {
      if (owners.is_own(i)) {
        own_.push_back(i);
      }
    }
    for (size_t i = 0; i < std::min(kOpenPieces, own_.size()); ++i) {
      memory_.emplace_back(Shape{ranks.count(), WeightPiece::kMaxElements}, types.traveling);
      receive(i);
    }
  }

  std::span<const size_t> own() const { return own_; }

  // Of the next own piece, whose own differences these are; they become the mean.
  void replace_by_mean(View differences) {
    const size_t slot = next_ % kOpenPieces;
    const View sum = sum_.view().column_range(0, differences.columns());
    for (Transfer& transfer : open_[slot]) {
      ranks_.wait(transfer);
    }
    for (int rank = 0; rank < ranks_.count(); ++rank) {
      add(rank == ranks_.rank() ? differences : received(slot, rank, differences.columns()), rank, sum);
    }
    backend_.scale(sum, 1.0 / ranks_.count());
    backend_.copy(sum, differences);
    if (++next_ + kOpenPieces <= own_.size()) {
      receive(next_ + kOpenPieces - 1);
    }
  }

 private:
  View received(size_t slot, int rank, int64_t count) const {
    return memory_[slot].view().row_range(rank, 1).column_range(0, count);
  }

  void receive(size_t index) {
    const size_t slot = index % kOpenPieces;
    open_[slot].clear();
    for (int rank = 0; rank < ranks_.count(); ++rank) {
      if (rank != ranks_.rank()) {
        open_[slot].push_back(
            ranks_.receive(rank, Channel::gradients, bytes_of(received(slot, rank, pieces_[own_[index]].count))));
      }
    }
  }

  void add(View piece, int rank, View sum) {
    if (rank == 0) {
      return backend_.copy(piece, sum);
    }
    const View wide = piece.type() == sum.type() ? piece : widened_.view().column_range(0, sum.columns());
    if (piece.type() != sum.type()) {
      backend_.copy(piece, wide);
    }
    backend_.add(wide, sum);
  }

  const Ranks& ranks_;
  Backend& backend_;
  std::span<const WeightPiece> pieces_;
  std::vector<size_t> own_;
  Tensor sum_, widened_;
  std::vector<Tensor> memory_;  // of each open piece, a row for each rank
  std::array<std::vector<Transfer>, kOpenPieces> open_;
  size_t next_ = 0;  // among own ones
};

void wait_for_all(const Ranks& ranks, std::vector<Transfer>& transfers) {
  for (Transfer& transfer : transfers) {
    ranks.wait(transfer);
  }
  transfers.clear();
}

}  // namespace

Meetings::Meetings(Backend& backend, Trainables& trainables, const OuterStep& step, DType type)
    : backend_(backend),
      trainables_(trainables),
      step_(step),
      anchor_({trainables.masters().elements()}, backend.master_type()),
      momentum_({trainables.masters().elements()}, backend.master_type()) {
  backend_.fill(momentum_.view(), 0.0);
  if (type != trainables.gradients().type()) {
    rounded_ = Tensor({trainables.gradients().elements()}, type);
  }
}

void Meetings::begin() { backend_.copy(trainables_.masters(), anchor_.view()); }

void Meetings::meet(const Ranks& ranks) {
  take_differences();
  average(ranks);
  step();
}

View Meetings::traveling(const WeightPiece& piece) const {
  return (rounded_.empty() ? trainables_.gradients() : rounded_.view()).column_range(piece.first, piece.count);
}

// Between updates, nobody needs the gradients.
void Meetings::take_differences() {
  const View differences = trainables_.gradients();
  backend_.copy(trainables_.masters(), differences);
  backend_.scale(differences, -1.0);
  backend_.add(anchor_.view(), differences);
  if (!rounded_.empty()) {
    backend_.copy(differences, rounded_.view());
  }
}

void Meetings::average(const Ranks& ranks) {
  if (ranks.is_alone()) {
    return;
  }
  const PieceOwners owners(trainables_, {}, ranks.count(), ranks.rank());
  PieceSums sums(ranks, backend_, owners,
                 {.traveling = traveling(owners.pieces().front()).type(), .sum = trainables_.gradients().type()});
  std::vector<Transfer> transfers;
  for (size_t i = 0; i < owners.pieces().size(); ++i) {
    if (!owners.is_own(i)) {
      transfers.push_back(ranks.send(owners.owner(i), Channel::gradients, bytes_of(traveling(owners.pieces()[i]))));
    }
  }
  for (const size_t piece : sums.own()) {
    sums.replace_by_mean(traveling(owners.pieces()[piece]));
  }
  wait_for_all(ranks, transfers);
  for (size_t i = 0; i < owners.pieces().size(); ++i) {
    const std::span<std::byte> mean = bytes_of(traveling(owners.pieces()[i]));
    if (!owners.is_own(i)) {
      transfers.push_back(ranks.receive(owners.owner(i), Channel::weights, mean));
      continue;
    }
    for (int other = 0; other < ranks.count(); ++other) {
      if (other != ranks.rank()) {
        transfers.push_back(ranks.send(other, Channel::weights, mean));
      }
    }
  }
  wait_for_all(ranks, transfers);
}

void Meetings::step() {
  const View mean = trainables_.gradients(), moments = momentum_.view();
  if (!rounded_.empty()) {
    backend_.copy(rounded_.view(), mean);
  }
  backend_.scale(moments, step_.momentum);
  backend_.add(mean, moments);
  // anchor -= rate g and rate momentum m, one after the other: so it needs no memory of its own.
  backend_.scale(mean, -step_.rate);
  backend_.add(mean, anchor_.view());
  backend_.copy(moments, mean);
  backend_.scale(mean, -step_.rate * step_.momentum);
  backend_.add(mean, anchor_.view());
  backend_.copy(anchor_.view(), trainables_.masters());
  trainables_.refresh(backend_);
}

void send_optimizer(const Ranks& ranks, const Optimizer::State& state) {
  for (const View& view : {state.first_moments, state.second_moments, state.applied}) {
    Transfer transfer = ranks.send(0, Channel::state, bytes_of(view));
    ranks.wait(transfer);
  }
}

ReceivedOptimizer::ReceivedOptimizer(const Optimizer::State& like)
    : first_moments_({like.first_moments.elements()}, like.first_moments.type()),
      second_moments_({like.second_moments.elements()}, like.second_moments.type()),
      applied_({like.applied.elements()}, like.applied.type()) {}

Optimizer::State ReceivedOptimizer::receive(const Ranks& ranks, int from) {
  const Optimizer::State state{first_moments_.view(), second_moments_.view(), applied_.view()};
  for (const View& view : {state.first_moments, state.second_moments, state.applied}) {
    Transfer transfer = ranks.receive(from, Channel::state, bytes_of(view));
    ranks.wait(transfer);
  }
  return state;
}

}  // namespace heed
