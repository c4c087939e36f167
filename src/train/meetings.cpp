#include "train/meetings.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "tensor/view_bytes.h"
#include "train/piece_messages.h"

namespace heed {
namespace {

// Pieces whose differences a rank expects at a time.
constexpr size_t kOpenPieces = 8;

// The means of the pieces that a rank owns: their differences, as they come from the others, in the order of the ranks.
class PieceMeans {
 public:
  struct Types {
    DType traveling, sum;
  };
  PieceMeans(const Ranks& ranks, Backend& backend, const PieceOwners& owners, Types types)
      : ranks_(ranks),
        backend_(backend),
        pieces_(owners.pieces()),
        sums_(backend),
        sum_({WeightPiece::kMaxElements}, types.sum) {
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
    ranks_.wait_for_all(open_[slot]);
    std::vector<View> parts;
    for (int rank = 0; rank < ranks_.count(); ++rank) {
      parts.push_back(rank == ranks_.rank() ? differences : received(slot, rank, differences.columns()));
    }
    sums_.set(sum, parts);
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
    for (int rank = 0; rank < ranks_.count(); ++rank) {
      if (rank != ranks_.rank()) {
        open_[slot].push_back(
            ranks_.receive(rank, Channel::gradients, bytes_of(received(slot, rank, pieces_[own_[index]].count))));
      }
    }
  }

  const Ranks& ranks_;
  Backend& backend_;
  std::span<const WeightPiece> pieces_;
  std::vector<size_t> own_;
  PieceSums sums_;
  Tensor sum_;
  std::vector<Tensor> memory_;  // of each open piece, a row for each rank
  std::array<std::vector<Transfer>, kOpenPieces> open_;
  size_t next_ = 0;  // among own ones
};

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
  PieceMeans means(ranks, backend_, owners,
                   {.traveling = traveling(owners.pieces().front()).type(), .sum = trainables_.gradients().type()});
  std::vector<Transfer> transfers;
  for (size_t i = 0; i < owners.pieces().size(); ++i) {
    if (!owners.is_own(i)) {
      transfers.push_back(ranks.send(owners.owner(i), Channel::gradients, bytes_of(traveling(owners.pieces()[i]))));
    }
  }
  for (const size_t piece : means.own()) {
    means.replace_by_mean(traveling(owners.pieces()[piece]));
  }
  ranks.wait_for_all(transfers);
  std::vector<int> all(static_cast<size_t>(ranks.count()));
  std::iota(all.begin(), all.end(), 0);
  share_pieces(ranks, owners, all, [this](const WeightPiece& piece) { return bytes_of(traveling(piece)); });
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
