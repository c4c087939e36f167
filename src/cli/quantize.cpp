#include "heed/quantize.h"

#include <memory>

#include "base/names.h"
#include "cli/commands.h"
#include "cli/standard_output.h"

namespace heed::cli {
namespace {

struct QuantizeArguments {
  QuantizeOptions options;
  std::vector<std::string> keep;
};

// "output.*=bf16".
KeptWeights kept_weights(const std::string& text) {
  const size_t sign = text.rfind('=');
  require<ConfigError>(sign != std::string::npos && sign > 0, "--keep", "'{}' is not of the form PATTERN=TYPE", text);
  return {text.substr(0, sign), value_named("--keep", text.substr(sign + 1), kWeightTypeNames)};
}

void run_quantize(QuantizeArguments& arguments) {
  for (const std::string& text : arguments.keep) {
    arguments.options.keep.push_back(kept_weights(text));
  }
  const QuantizedWeights result = quantize(arguments.options);
  put("{} matrices, {} bytes instead of {} ({:.3f}), signal to noise {:.1f} dB\n", result.matrices, result.bytes_after,
      result.bytes_before, static_cast<double>(result.bytes_after) / static_cast<double>(result.bytes_before),
      result.signal_to_noise);
}

}  // namespace

Command quantize_command() {
  const auto arguments = std::make_shared<QuantizeArguments>();
  QuantizeOptions& options = arguments->options;
  return {
      .name = "quantize",
      .summary = "write a model with smaller weights, for inference",
      .options = {required(option("--model DIR", options.model, "the model directory to read")),
                  required(option("--out DIR", options.output, "the model directory to write")),
                  option("--type TYPE", options.type, kWeightTypeNames,
                         "of all matrices: int8 (a scale for each output; activations are quantized as they come), "
                         "bf16, f16 or f32"),
                  option("--keep PATTERN=TYPE", arguments->keep,
                         "another type for the matrices whose names match, such as 'output.*=bf16'; the first pattern "
                         "that matches counts")},
      .run = [arguments] { run_quantize(*arguments); },
  };
}

}  // namespace heed::cli
