#include "checkpoint/imported_model.h"

#include "base/system/new_folder.h"
#include "checkpoint/chat_template_file.h"
#include "interchange/foreign_source.h"
#include "interchange/huggingface/config_file.h"
#include "tensor_files/safetensors.h"

namespace heed {
namespace {

void require_foreign(const std::filesystem::path& from) {
  require<IoError>(std::filesystem::exists(from), from.string(), "there is no such model");
  if (is_foreign_model(from)) {
    return;
  }
  if (const std::filesystem::path config = from / "config.json"; std::filesystem::is_regular_file(config)) {
    const ConfigFile read(config);  // which says what is wrong with it
    fail<ConfigError>(config.string(), "has no \"model_type\": it is that of no other program's model");
  }
  fail<ConfigError>(from.string(), "is not a model of another program that heed reads");
}

}  // namespace

ImportedModel write_imported_model(const std::filesystem::path& from, const ModelFolder& to,
                                   const Interruption& interruption) {
  require_foreign(from);
  require_no_model(to);
  const ForeignModel model = read_foreign_model(from);
  const Tokenizers tokenizers = read_foreign_tokenizers(from, model);
  const std::shared_ptr<const TensorFile> weights = open_foreign_weights(model);
  std::vector<TensorSource> tensors;
  ImportedModel imported{.family = model.family, .notes = foreign_notes(model, tokenizers)};
  for (const StoredTensor& tensor : weights->tensors()) {
    tensors.push_back(tensor_source(*weights, tensor));
    imported.bytes += tensor.elements() * size_of(tensor.type);
  }
  imported.tensors = std::ssize(tensors);
  NewFolder folder(to.path);
  write_checked_safetensors(to.weights(), tensors, mark_of(model.config), interruption);
  save_description(to, description_of(model), tokenizers);
  copy_chat_template({from}, to);
  folder.keep();
  return imported;
}

}  // namespace heed
