// A calibration text as a model's tokens.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/stored_model.h"

namespace heed {

// Plain or compressed with gzip. `target` is for encoder-decoders: the translations, line by line; empty: the model
// translates the text itself, greedily.
struct CalibrationFiles {
  std::string text, target;
};

struct CalibrationTokens {
  std::vector<std::vector<int32_t>> texts;   // as the model, or its encoder, reads them
  std::vector<std::vector<int32_t>> inputs;  // of an encoder-decoder: what its decoder reads
};

// Evenly spaced lines of the first 4 MB of the text, or windows of a language model's context: as many as have about
// 32,768 tokens. FormatError, naming the file, where there is nothing to read, where most tokens are unknown, where a
// language model predicts the text no better than chance, and where the text or its translations are of the wrong side
// for an encoder-decoder (quant/calibration_sides.h).
CalibrationTokens calibration_tokens(const CalibrationFiles& files, const StoredModel& stored, Backend& backend);

}  // namespace heed
