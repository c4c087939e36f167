// Several recipes side by side: which of them learns most in the same time. For the program only: embedders do not link
// it.
#pragma once

#include <string>
#include <vector>

#include "heed/types/train.h"

namespace heed {

struct TuneOptions {
  std::string recipe;                  // a file, in TOML
  std::string output;                  // the folder to write
  std::vector<std::string> overrides;  // "table.key=value", of all trials
  std::vector<std::string> varied;     // "table.key=value,value"; none: chosen by rules
  double minutes = 120.0;              // that the whole tuning may take
  TrainStart start = TrainStart::fresh;
  int threads = 0;             // 0: one per processor
  std::string device = "cpu";  // or "cuda", "cuda:1": an NVIDIA GPU
};

enum class TuneEnd : uint8_t { complete, minutes, stopped };

struct TuneResult {
  TuneEnd end = TuneEnd::complete;
  std::string recipe, page;  // files; empty where the tuning was stopped
  std::string model;         // the model directory of the best trial
};

// A range test of the rate, then successive halving (rungs.h) over runs that go on where they paused, then a second seed
// of the best one. The folder has all of it: tuning.json, what was done so far; runs/N, the trials; and at the end
// tuning.html and recipe.toml, the best recipe. Messages, the table after each rung among them, go to the listener, with
// the progress of each run. ConfigError, before anything is written, for minutes too few for two trials, a recipe
// without validation text, and changes that make no valid recipe.
TuneResult tune(const TuneOptions& options, TrainListener& listener);

}  // namespace heed
