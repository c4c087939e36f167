// An average of a run's weights over its updates.
#pragma once

#include "nn/weights/trainables.h"
#include "optim/slice_owners.h"

namespace heed {

// Neighbouring updates.
struct UpdateSpan {
  int64_t last = 0;  // its number
  int64_t count = 1;
};

// After update n, with w its weights:
//   average = d average + (1 - d) w    d = min(decay, (1 + n) / (10 + n))
// The average decays faster at first, so that it does not retain the initialization. Each rank has that of its own
// slices.
class MovingAverage {
 public:
  // What it refers to must outlive it.
  MovingAverage(Backend& backend, Trainables& trainables, const SliceOwners& owners, double decay);

  // From the weights as they are.
  void begin();
  // The weights after the last of some updates, for each of them.
  void add(const UpdateSpan& updates);

  View view() const { return average_.view(); }
  // Gives the memory of the others' slices back.
  void discard_others();

  // Puts the average in place of the weights while it lives; null: nothing. The masters are in masters() meanwhile.
  class InPlace {
   public:
    explicit InPlace(MovingAverage* average);
    ~InPlace();
    InPlace(const InPlace&) = delete;
    InPlace& operator=(const InPlace&) = delete;

    View masters() const { return average_->set_aside_.view(); }

   private:
    MovingAverage* average_;
  };

 private:
  void put(ConstView weights);

  Backend& backend_;
  Trainables& trainables_;
  const SliceOwners& owners_;
  double decay_;
  Tensor average_, set_aside_;
};

}  // namespace heed
