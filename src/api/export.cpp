#include "heed/export.h"

#include <filesystem>

#include "checkpoint/adapter.h"
#include "checkpoint/stored_model.h"
#include "checkpoint/stored_weight.h"
#include "checkpoint/weights.h"
#include "interchange/gguf/gguf_export.h"
#include "tensor_files/safetensors.h"

namespace heed {
namespace {

std::string name_of_folder(const std::filesystem::path& path) {
  return std::filesystem::absolute(path / ".").lexically_normal().parent_path().filename().string();
}

// FormatError unless the file has all of the model's weights, as floats and undamaged.
void require_exact(const TensorFile& stored, const ModelConfig& config) {
  Weights weights;
  const AnyModel model(Scope(weights), config);
  for (const Weight& weight : weights.all()) {
    require_stored(stored, weight);
  }
  require_not_quantized(stored);
  verify_checksum(stored);
}

}  // namespace

GgufSummary export_gguf(const GgufOptions& options) {
  const std::filesystem::path output = options.output;
  require<ConfigError>(output.extension() == ".gguf", options.output, "expected a name that ends in .gguf");
  const ModelFolder folder{options.model};
  require<ConfigError>(!holds_adapter(folder), options.model,
                       "is an adapter: make a plain model of it first, with heed merge");
  require_architecture(folder, Architecture::causal_lm);
  const ModelDescription description = load_description(folder);
  const Tokenizers tokenizers = load_tokenizers(folder, description);
  const std::shared_ptr<const TensorFile> weights = open_weights(folder, description.config);
  const ExportedModel model{.name = name_of_folder(folder.path),
                            .where = folder.path.string(),
                            .config = description.config,
                            .tokenizers = tokenizers,
                            .documents = description.documents.value_or(Documents::none),
                            .weights = *weights};
  require_gguf_form(model);
  require_exact(*weights, description.config);
  return write_gguf_model(model, output, options.type);
}

}  // namespace heed
