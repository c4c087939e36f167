#include "heed/export.h"

#include <memory>

#include "cli/commands.h"
#include "cli/output/standard_output.h"

namespace heed::cli {
namespace {

void run_export(const GgufOptions& options) {
  const GgufSummary result = export_gguf(options);
  put("{} tensors, {} bytes\n", result.tensors, result.bytes);
}

}  // namespace

Command export_command() {
  const auto options = std::make_shared<GgufOptions>();
  return {
      .name = "export",
      .summary = "write a language model for llama.cpp, as a GGUF file",
      .options = {required(option("--model DIR", options->model, "the model directory to read")),
                  required(option("--out FILE.gguf", options->output, "the file to write")),
                  option("--type TYPE", options->type, kGgufTypeNames,
                         "of all matrices: f16, bf16, f32, or integers in blocks of 32 with a scale: q8_0 (8 bits), "
                         "q4_0 (4 bits)")},
      .run = [options] { run_export(*options); },
      .footer = "Example:\n  heed export --model model --out model.gguf --type q8_0",
  };
}

}  // namespace heed::cli
