#include "ops/pass.h"

#include "kernels/host_copy.h"

namespace heed {

Pass Pass::infer(Backend& backend, DType storage) { return {backend, storage, Mode::infer, nullptr, RandomKey{}}; }

Pass Pass::train(Backend& backend, DType storage, Tape& tape, RandomKey key) {
  return {backend, storage, Mode::train, &tape, key};
}

Tensor Pass::indices(std::span<const int32_t> values) const {
  Tensor tensor({static_cast<int64_t>(values.size())}, DType::i32, backend_->arena());
  put_values(*backend_, values, tensor.view());
  return tensor;
}

Dropout Pass::dropout(const DropoutSite& site, uint64_t first_row) {
  if (mode_ == Mode::infer || site.probability.value <= 0.0F) {
    return Dropout::none();
  }
  const uint64_t use = uses_[site.path.bits]++;
  Dropout dropout = Dropout::of(site.probability, key_.derive(site.path.bits).derive(use), first_row);
  dropout.first_column = static_cast<uint32_t>(site.first_column);
  return dropout;
}

Pass Pass::giving(Lesson& lesson) const {
  Pass pass = *this;
  pass.given_ = &lesson;
  return pass;
}

Pass Pass::learning(const Lesson& lesson) const {
  Pass pass = *this;
  pass.learned_ = &lesson;
  return pass;
}

Pass Pass::unrecorded() const {
  Pass pass = *this;
  pass.tape_ = nullptr;
  return pass;
}

Pass Pass::recorded_on(Tape& tape) const {
  Pass pass = *this;
  pass.tape_ = &tape;
  return pass;
}

}  // namespace heed
