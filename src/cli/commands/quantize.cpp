#include "heed/quantize.h"

#include <fmt/ranges.h>

#include <map>
#include <memory>

#include "cli/commands.h"
#include "cli/output/standard_output.h"

namespace heed::cli {
namespace {

// What the calibration text decided, and the product that is furthest from exact.
void print_calibration(const std::vector<QuantizedMatrix>& matrices) {
  std::map<std::string, int> rules;
  int smoothed = 0, compensated = 0;
  const QuantizedMatrix* worst = nullptr;
  for (const QuantizedMatrix& matrix : matrices) {
    if (!matrix.range.empty()) {
      ++rules[matrix.range];
    }
    smoothed += matrix.smoothed == Smoothed::yes ? 1 : 0;
    compensated += matrix.compensated == Compensated::yes ? 1 : 0;
    if (matrix.product_signal_to_noise &&
        (worst == nullptr || *matrix.product_signal_to_noise < *worst->product_signal_to_noise)) {
      worst = &matrix;
    }
  }
  if (!rules.empty()) {
    std::vector<std::string> chosen;
    chosen.reserve(rules.size());
    for (const auto& [rule, count] : rules) {
      chosen.push_back(fmt::format("{} {}", rule, count));
    }
    put("ranges of inputs: {}; {} matrices smoothed\n", fmt::join(chosen, ", "), smoothed);
  }
  if (compensated > 0) {
    put("{} matrices of int4 compensated\n", compensated);
  }
  if (worst != nullptr) {
    put("lowest signal to noise of a product: {:.1f} dB, {}\n", *worst->product_signal_to_noise, worst->name);
  }
}

void run_quantize(const QuantizeOptions& options) {
  const QuantizedWeights result = quantize(options);
  put("{} matrices, {} bytes instead of {} ({:.3f}), signal to noise {:.1f} dB\n", result.matrices.size(),
      result.bytes_after, result.bytes_before,
      static_cast<double>(result.bytes_after) / static_cast<double>(result.bytes_before), result.signal_to_noise);
  print_calibration(result.matrices);
  for (const MeasuredChange& change : result.changes) {
    put("{}: {:.3f}, before {:.3f}\n", change.metric, change.after, change.before);
  }
}

}  // namespace

Command quantize_command() {
  const auto options = std::make_shared<QuantizeOptions>();
  QuantizationReport& report = options->report;
  return {
      .name = "quantize",
      .summary = "write a model with smaller weights, for inference",
      .options =
          {required(option("--model DIR", options->model, "the model directory to read")),
           required(option("--out DIR", options->output, "the model directory to write")),
           option("--type TYPE", options->type, kWeightTypeNames,
                  "of all matrices: int8 (a scale for each output), int8-static (the same, with ranges of activations "
                  "from "
                  "a calibration text), int8-groups (a scale for each 32 values of an output), int4 (the same, or for "
                  "each "
                  "64), bf16, f16 or f32; with integers, activations are quantized as they are computed"),
           pattern_option(
               "--keep PATTERN=TYPE", kWeightTypeNames,
               [options](std::string pattern, WeightType type) {
                 options->keep.push_back({std::move(pattern), type});
               },
               "another type for the matrices whose names match, such as 'output.*=bf16'; the first pattern "
               "that matches counts"),
           option("--group N", options->group, "number of values of int4 that share a scale: 32 or 64"),
           option("--calibration FILE", options->calibration,
                  "text of the kind that the model reads, for int8-static and int4; plain or gzip"),
           option("--calibration-target FILE", options->calibration_target,
                  "translations of that text; without them, the model translates it"),
           option("--report FILE", report.page, "write an HTML page about what quantizing changed"),
           option("--report-source FILE", report.source,
                  "sentences to measure BLEU on before and after, with greedy search"),
           option("--report-reference FILE", report.reference, "the translations of these sentences"),
           option("--report-text FILE", report.text,
                  "text to measure perplexity on before and after; or text with labels, for the accuracy of a "
                  "classifier or tagger"),
           flag("--lowercase", report.letters, LetterCase::lower, "compare in lower case"),
           option("--threads N", options->threads, "threads to calibrate and measure with; 0: one per processor")},
      .run = [options] { run_quantize(*options); },
  };
}

}  // namespace heed::cli
