#include "heed/export.h"

#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/output/standard_output.h"

namespace heed::cli {
namespace {

void run_export(const ExportOptions& options) {
  const ExportSummary result = export_model(options);
  put("{}: {} tensors, {} bytes\n", result.form, result.tensors, result.bytes);
}

}  // namespace

Command export_command() {
  const auto options = std::make_shared<ExportOptions>();
  return {
      .name = "export",
      .summary = "write a model in another program's format",
      .options = {required(option("--model DIR", options->model, "the model to read")),
                  option("--format FORMAT", options->format, kExportFormatNames,
                         "gguf: a file for llama.cpp, the default if PATH ends in .gguf; huggingface, ctranslate2: a "
                         "directory"),
                  required(option("--out PATH", options->output, "the file or the directory to write")),
                  option("--type TYPE", options->type,
                         "the type of all matrices: f32, f16, bf16; int8 in ctranslate2; q8_0 (8 bits), q4_0 (4 bits) "
                         "in gguf; by default f16 in gguf, and elsewhere as the model has them")},
      .run = [options] { run_export(*options); },
      .footer =
          "Examples:\n  heed export --model model --out model.gguf --type q8_0\n"
          "  heed export --model model --format huggingface --out directory",
  };
}

}  // namespace heed::cli
