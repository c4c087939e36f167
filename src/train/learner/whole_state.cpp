#include "train/learner/whole_state.h"

#include <vector>

namespace heed {
namespace {

// All but the count of applied updates, which every rank knows.
std::vector<View> divided_memory(const TrainingTensors& tensors) {
  std::vector<View> all{tensors.masters, tensors.optimizer.first_moments, tensors.optimizer.second_moments};
  if (!tensors.moving_average.empty()) {
    all.push_back(tensors.moving_average);
  }
  return all;
}

}  // namespace

WholeState::WholeState(Backend& backend, const ModelConfig& config, DType storage, const TrainingTensors& parts)
    : model_(Scope(weights_), config),
      trainables_(backend, weights_, storage, Trainables::Gradients::none),
      masters_({trainables_.masters().elements()}, backend.master_type()),
      first_moments_(masters_.shape(), masters_.type()),
      second_moments_(masters_.shape(), masters_.type()),
      applied_({1}, DType::f64) {
  if (!parts.moving_average.empty()) {
    moving_average_ = Tensor(masters_.shape(), masters_.type());
  }
}

TrainingTensors WholeState::tensors() {
  return {masters_.view(), {first_moments_.view(), second_moments_.view(), applied_.view()}, moving_average_.view()};
}

void WholeState::collect(const Trainables& own, const TrainingTensors& parts, WholeState* whole) {
  const std::vector<View> from = divided_memory(parts);
  const std::vector<View> to = whole == nullptr ? std::vector<View>() : divided_memory(whole->tensors());
  for (size_t i = 0; i < from.size(); ++i) {
    collect_parts(own.weights(), values_in(own, from[i]),
                  whole == nullptr ? ValuesOfWeights() : values_in(whole->trainables_, to[i]));
  }
  if (whole != nullptr) {
    *whole->applied_.data<double>() = *host<double>(parts.optimizer.applied).data;
  }
}

void WholeState::take_parts(const Trainables& own, const TrainingTensors& parts) {
  const std::vector<View> from = divided_memory(tensors()), to = divided_memory(parts);
  for (size_t i = 0; i < from.size(); ++i) {
    take_own_parts(own.weights(), values_in(trainables_, from[i]), values_in(own, to[i]));
  }
  *host<double>(parts.optimizer.applied).data = *applied_.data<double>();
}

void WholeState::put_validated_weights(Backend& backend) {
  backend.copy(moving_average_.empty() ? masters_.view() : moving_average_.view(), trainables_.masters());
  trainables_.refresh(backend);
}

}  // namespace heed
