// What a search considered, step by step.
#pragma once

#include <optional>
#include <utility>

#include "heed/types/writing/beam_trace.h"

namespace heed {

// Notes the hypotheses of one search, without their pieces.
class BeamRecorder {
 public:
  explicit BeamRecorder(int64_t most = kMaxTraced) : most_(most) {}

  void begin_step();
  // Adds to the step that was begun last, and returns where; none where it is no longer noted.
  std::optional<BeamPlace> add(BeamHypothesis hypothesis);

  // The steps that were begun since this was last asked; no more is added to them.
  BeamSteps new_steps();
  BeamTrace take() { return std::move(trace_); }

 private:
  int64_t most_, count_ = 0;
  size_t told_ = 0;  // steps
  BeamTrace trace_;
};

}  // namespace heed
