// One trial's way to the next rung.
#pragma once

#include <filesystem>
#include <functional>

#include "kernels/kernels.h"
#include "tune/tuning_state.h"

namespace heed {

// What trials are compared by before their end, when BLEU and its like are still mostly noise: the loss, unless what is
// varied changes what a loss means.
enum class EarlyValue : uint8_t { loss, of_recipe };

enum class LegEnd : uint8_t { there, failed, stopped };

struct LegRequest {
  Backend& backend;
  const Recipe& recipe;
  std::filesystem::path folder;  // of the run, which goes on where it paused, or was killed
  double share = 1.0;            // of the run, to which it goes
  EarlyValue early = EarlyValue::loss;
  TrainListener& listener;
  std::function<bool()> is_over;  // whether the time is up
  std::function<void()> save;     // after each validation, and now and then
};

// Adds the leg to the trial, with its time and updates. A run that diverges has failed.
LegEnd run_leg(Trial& trial, const LegRequest& request);

}  // namespace heed
