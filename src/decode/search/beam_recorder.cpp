#include "decode/search/beam_recorder.h"

namespace heed {

void BeamRecorder::begin_step() {
  trace_.is_complete = trace_.is_complete && count_ < most_;
  if (trace_.is_complete) {
    trace_.steps.emplace_back();
  }
}

std::optional<BeamPlace> BeamRecorder::add(BeamHypothesis hypothesis) {
  if (!trace_.is_complete) {
    return std::nullopt;
  }
  ++count_;
  trace_.steps.back().push_back(std::move(hypothesis));
  return BeamPlace{std::ssize(trace_.steps) - 1, std::ssize(trace_.steps.back()) - 1};
}

BeamSteps BeamRecorder::new_steps() {
  const size_t known = std::exchange(told_, trace_.steps.size());
  return {trace_.steps.begin() + static_cast<ptrdiff_t>(known), trace_.steps.end()};
}

}  // namespace heed
