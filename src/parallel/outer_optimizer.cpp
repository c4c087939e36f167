#include "parallel/outer_optimizer.h"

#include <algorithm>

#include "parallel/slice_messages.h"
#include "tensor/view_bytes.h"

namespace heed {
namespace {

// The means of the slices that a rank owns: their differences, as they come from the others, in the order of the ranks.
class SliceMeans {
 public:
  SliceMeans(const Ranks& ranks, Backend& backend, const SliceOwners& owners, const WireFormat& format, DType wide)
      : ranks_(ranks),
        backend_(backend),
        format_(format),
        slices_(owners.slices()),
        sums_(backend),
        sum_({WeightSlice::kMaxElements}, wide),
        scratch_({ranks.count(), WeightSlice::kMaxElements}, wide),
        open_(open_slices(ranks.count())) {
    for (size_t i = 0; i < slices_.size(); ++i) {
      if (owners.is_own(i)) {
        own_.push_back(i);
      }
    }
    for (size_t i = 0; i < std::min(open_.size(), own_.size()); ++i) {
      memory_.emplace_back(Shape{ranks.count(), format.bytes(WeightSlice::kMaxElements)}, DType::i8);
      receive(i);
    }
  }

  std::span<const size_t> own() const { return own_; }

  // Replaces this rank's differences of its next own slice, in the form in which they travel, by the mean over all
  // ranks.
  void replace_by_mean(std::span<std::byte> differences) {
    const int64_t count = slices_[own_[next_]].count;
    const size_t slot = next_ % open_.size();
    const View sum = sum_.view().column_range(0, count);
    ranks_.wait_for_all(open_[slot]);
    std::vector<ConstView> parts;
    for (int rank = 0; rank < ranks_.count(); ++rank) {
      const std::span<std::byte> bytes = rank == ranks_.rank() ? differences : received(slot, rank, count);
      parts.push_back(format_.decode(bytes, count, scratch_.view().row_range(rank, 1)));
    }
    sums_.set(sum, parts);
    backend_.scale(sum, 1.0 / ranks_.count());
    format_.encode(backend_, sum, differences);
    if (++next_ + open_.size() <= own_.size()) {
      receive(next_ + open_.size() - 1);
    }
  }

 private:
  std::span<std::byte> received(size_t slot, int rank, int64_t count) const {
    return bytes_of(memory_[slot].view().row_range(rank, 1).column_range(0, format_.bytes(count)));
  }

  void receive(size_t index) {
    const size_t slot = index % open_.size();
    for (int rank = 0; rank < ranks_.count(); ++rank) {
      if (rank != ranks_.rank()) {
        open_[slot].push_back(
            ranks_.receive(rank, Channel::gradients, received(slot, rank, slices_[own_[index]].count)));
      }
    }
  }

  const Ranks& ranks_;
  Backend& backend_;
  const WireFormat& format_;
  std::span<const WeightSlice> slices_;
  std::vector<size_t> own_;
  SliceSums sums_;
  Tensor sum_, scratch_;                     // of one slice; a row of scratch for each rank
  std::vector<Tensor> memory_;               // of each open slice, a row for each rank
  std::vector<std::vector<Transfer>> open_;  // goes before its memory
  size_t next_ = 0;                          // among own ones
};

}  // namespace

OuterOptimizer::OuterOptimizer(Backend& backend, Trainables& trainables, View momentum, const OuterStep& step,
                               WireType type)
    : backend_(backend),
      trainables_(trainables),
      step_(step),
      format_(type, trainables.gradients().type()),
      slices_(trainables.slices()),
      momentum_(momentum),
      anchor_({trainables.masters().elements()}, backend.master_type()),
      mean_({WeightSlice::kMaxElements}, trainables.gradients().type()),
      part_({WeightSlice::kMaxElements}, trainables.gradients().type()) {
  backend_.copy(trainables_.masters(), anchor_.view());
  if (!format_.is_wide()) {
    int64_t bytes = 0;
    begins_.reserve(slices_.size());
    for (const WeightSlice& slice : slices_) {
      begins_.push_back(bytes);
      bytes += format_.bytes(slice.count);
    }
    wire_ = Tensor({bytes}, DType::i8);
  }
}

void OuterOptimizer::step(const Ranks& ranks) {
  if (ranks.is_alone()) {
    for (size_t i = 0; i < slices_.size(); ++i) {
      take_difference(i);
      move_anchor(i);
    }
  } else {
    step_together(ranks);
  }
  trainables_.refresh(backend_);
}

// Computes slices while others travel.
void OuterOptimizer::step_together(const Ranks& ranks) {
  const SliceOwners owners(trainables_, {}, {.rank = ranks.rank(), .count = ranks.count()});
  SliceMeans means(ranks, backend_, owners, format_, trainables_.gradients().type());
  std::vector<Transfer> sent;
  for (size_t i = 0; i < slices_.size(); ++i) {
    if (!owners.is_own(i)) {
      take_difference(i);
      sent.push_back(ranks.send(owners.owner(i), Channel::gradients, wire(i)));
    }
  }
  for (const size_t slice : means.own()) {
    take_difference(slice);
    means.replace_by_mean(wire(slice));
  }
  ranks.wait_for_all(sent);  // others' means come to the same memory

  const auto memory = [this](size_t slice) { return wire(slice); };
  SharedSlices shared = begin_to_share(ranks, owners, all_of(ranks), memory);
  for (const size_t slice : means.own()) {
    move_anchor(slice);
  }
  for (ComingSlice& coming : shared.coming) {
    ranks.wait(coming.transfer);
    move_anchor(coming.slice);
  }
  ranks.wait_for_all(shared.sent);
}

View OuterOptimizer::slice_of(View flat, size_t slice) const {
  return flat.column_range(slices_[slice].first, slices_[slice].count);
}

std::span<std::byte> OuterOptimizer::wire(size_t slice) const {
  return format_.is_wide() ? bytes_of(slice_of(trainables_.gradients(), slice))
                           : bytes_of(wire_.view().column_range(begins_[slice], format_.bytes(slices_[slice].count)));
}

// Between updates, nobody needs the gradients.
void OuterOptimizer::take_difference(size_t slice) {
  const View difference = slice_of(trainables_.gradients(), slice);
  backend_.copy(slice_of(trainables_.masters(), slice), difference);
  backend_.scale(difference, -1.0);
  backend_.add(slice_of(anchor_.view(), slice), difference);
  if (!format_.is_wide()) {
    format_.encode(backend_, difference, wire(slice));
  }
}

void OuterOptimizer::move_anchor(size_t slice) {
  const int64_t count = slices_[slice].count;
  const View anchor = slice_of(anchor_.view(), slice), moments = slice_of(momentum_, slice);
  const View mean = mean_.view().column_range(0, count), part = part_.view().column_range(0, count);
  backend_.copy(format_.decode(wire(slice), count, part), mean);
  backend_.scale(moments, step_.momentum);
  backend_.add(mean, moments);
  backend_.scale(mean, -step_.rate);
  backend_.add(mean, anchor);
  backend_.copy(moments, part);
  backend_.scale(part, -step_.rate * step_.momentum);
  backend_.add(part, anchor);
  backend_.copy(anchor, slice_of(trainables_.masters(), slice));
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
