#include "heed/import.h"

#include <memory>

#include "cli/commands.h"
#include "cli/output/standard_output.h"

namespace heed::cli {

Command import_command() {
  const auto options = std::make_shared<ImportOptions>();
  return {
      .name = "import",
      .summary = "make a model directory of another program's model",
      .options = {required(option("SOURCE", options->source, "the model: a directory or a file")),
                  required(option("--out DIR", options->output, "the model directory to write"))},
      .run =
          [options] {
            const ImportedModel imported = import_model(*options);
            put("{}: {} tensors, {} bytes\n", imported.family, imported.tensors, imported.bytes);
            for (const std::string& note : imported.notes) {
              put("{}\n", note);
            }
          },
  };
}

}  // namespace heed::cli
