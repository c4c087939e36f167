// How good a model is on a text that has the answers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "heed/types/quantize.h"
#include "models/config.h"

namespace heed {

struct MeasuredQuality {
  std::string metric;  // "BLEU", "perplexity" or "accuracy, %"
  double value = 0.0;
};

// ConfigError where the report names no page, a page that cannot be written or is also read (`inputs` are the other
// files that are), or a text that this kind of model is not measured on.
void check_report(const QuantizationReport& report, const ModelConfig& model, const std::vector<std::string>& inputs);
// Measures the model in f32. Nothing where the report names no text.
std::optional<MeasuredQuality> measure_quality(const std::string& directory, const ModelConfig& model,
                                               const QuantizationReport& report, int threads);

}  // namespace heed
