#include "optim/moving_average.h"

#include <algorithm>
#include <cmath>

#include "kernels/host_copy.h"

namespace heed {

MovingAverage::MovingAverage(Backend& backend, Trainables& trainables, const SliceOwners& owners, double decay)
    : backend_(backend),
      trainables_(trainables),
      owners_(owners),
      decay_(decay),
      average_(keep_readable(backend, {trainables.masters().elements()}, backend.master_type())),
      set_aside_(keep_readable(backend, average_.shape(), average_.type())) {}

void MovingAverage::begin() { backend_.copy(trainables_.masters(), average_.view()); }

void MovingAverage::add(const UpdateSpan& updates) {
  const double n = static_cast<double>(updates.last);
  const double decay = std::pow(std::min(decay_, (1.0 + n) / (10.0 + n)), static_cast<double>(updates.count));
  if (owners_.owns_all()) {
    return backend_.blend(trainables_.masters(), average_.view(), 1.0 - decay);
  }
  for (size_t i = 0; i < owners_.slices().size(); ++i) {
    const auto& [weight, first, count] = owners_.slices()[i];
    if (owners_.is_own(i)) {
      backend_.blend(trainables_.masters().column_range(first, count), average_.view().column_range(first, count),
                     1.0 - decay);
    }
  }
}

void MovingAverage::discard_others() {
  for (size_t i = 0; i < owners_.slices().size(); ++i) {
    if (!owners_.is_own(i)) {
      average_.discard(owners_.slices()[i].first, owners_.slices()[i].count);
    }
  }
  set_aside_.discard(0, set_aside_.elements());
}

void MovingAverage::put(ConstView weights) {
  backend_.copy(weights, trainables_.masters());
  trainables_.refresh(backend_);
}

MovingAverage::InPlace::InPlace(MovingAverage* average) : average_(average) {
  if (average_ != nullptr) {
    average_->backend_.copy(average_->trainables_.masters(), average_->set_aside_.view());
    average_->put(average_->average_.view());
  }
}

MovingAverage::InPlace::~InPlace() {
  if (average_ != nullptr) {
    average_->put(average_->set_aside_.view());
  }
}

}  // namespace heed
