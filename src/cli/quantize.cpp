#include "heed/quantize.h"

#include <memory>

#include "cli/commands.h"
#include "cli/standard_output.h"

namespace heed::cli {
namespace {

void run_quantize(const QuantizeOptions& options) {
  const QuantizedWeights result = quantize(options);
  put("{} matrices, {} bytes instead of {} ({:.3f}), signal to noise {:.1f} dB\n", result.matrices, result.bytes_after,
      result.bytes_before, static_cast<double>(result.bytes_after) / static_cast<double>(result.bytes_before),
      result.signal_to_noise);
}

}  // namespace

Command quantize_command() {
  const auto options = std::make_shared<QuantizeOptions>();
  return {
      .name = "quantize",
      .summary = "write a model with smaller weights, for inference",
      .options =
          {required(option("--model DIR", options->model, "the model directory to read")),
           required(option("--out DIR", options->output, "the model directory to write")),
           option(
               "--type TYPE", options->type, kWeightTypeNames,
               "of all matrices: int8 (a scale for each output), int4 (a scale for each 32 of an output), bf16, f16 or "
               "f32; with int8 and int4, activations are quantized as they come"),
           pattern_option(
               "--keep PATTERN=TYPE", kWeightTypeNames,
               [options](std::string pattern, WeightType type) {
                 options->keep.push_back({std::move(pattern), type});
               },
               "another type for the matrices whose names match, such as 'output.*=bf16'; the first pattern "
               "that matches counts")},
      .run = [options] { run_quantize(*options); },
  };
}

}  // namespace heed::cli
