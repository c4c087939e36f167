// The context of a forward call: backend, storage type, mode, random stream and, in training, the tape.
#pragma once

#include <span>
#include <unordered_map>

#include "kernels/dropout.h"
#include "kernels/kernels.h"
#include "tensor/tensor.h"

namespace heed {

class Tape;
struct Lesson;

// Where dropout happens: a site in the model, named by its path, and the probability that a value is dropped there.
// Where a rank has some of the columns, the draws are numbered as in the whole model.
struct DropoutSite {
  RandomKey path;
  Probability probability{0.0F};
  int64_t first_column = 0;
};

class Pass {
 public:
  // Nothing is recorded and nothing dropped.
  static Pass infer(Backend& backend, DType storage);
  // Records on `tape`. `key` should differ from update to update.
  static Pass train(Backend& backend, DType storage, Tape& tape, RandomKey key);

  Backend& backend() const { return *backend_; }
  DType storage() const { return storage_; }
  bool recording() const { return tape_ != nullptr; }
  Tape& tape() const { return *tape_; }

  Tensor allocate(Shape shape) const { return Tensor(shape, storage_, backend_->arena()); }
  Tensor allocate(Shape shape, DType type) const { return Tensor(shape, type, backend_->arena()); }
  Tensor allocate_master(Shape shape) const { return allocate(shape, backend_->master_type()); }
  Tensor indices(std::span<const int32_t> values) const;

  // The draws of a site in this pass. Each use of a site within a pass draws anew.
  Dropout dropout(const DropoutSite& site, uint64_t first_row);

  // The same pass of a teacher, whose output_loss leaves what it predicts in the lesson and has no losses; and of a
  // student, whose output_loss is that against the teacher's distribution.
  Pass giving(Lesson& lesson) const;
  Pass learning(const Lesson& lesson) const;
  Lesson* given() const { return given_; }
  const Lesson* learned() const { return learned_; }

  // The same pass at the same point of its random stream, recording elsewhere or nowhere: to run a part of it without
  // saving anything, and to run it again.
  Pass unrecorded() const;
  Pass recorded_on(Tape& tape) const;
  void continue_after(const Pass& other) { uses_ = other.uses_; }

 private:
  enum class Mode : uint8_t { infer, train };
  Pass(Backend& backend, DType storage, Mode mode, Tape* tape, RandomKey key)
      : backend_(&backend), tape_(tape), key_(key), storage_(storage), mode_(mode) {}

  Backend* backend_;
  Tape* tape_;
  RandomKey key_;
  std::unordered_map<uint64_t, uint64_t> uses_;  // of each site so far
  DType storage_;
  Mode mode_;
  Lesson* given_ = nullptr;
  const Lesson* learned_ = nullptr;
};

}  // namespace heed
