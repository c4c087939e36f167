#include "checkpoint/imported_model.h"

#include <algorithm>

#include "base/system/new_folder.h"
#include "checkpoint/chat_template_file.h"
#include "interchange/foreign_source.h"
#include "tensor_files/safetensors.h"

namespace heed {
namespace {

// A tensor's bytes, some rows at a time.
TensorSource source_of(const TensorFile& file, const StoredTensor& tensor) {
  return {tensor.name, tensor.type, tensor.shape, [&file, &tensor](const ByteSink& sink) {
            constexpr int64_t kBytesAtOnce = 4 << 20;
            const int64_t at_once = std::max<int64_t>(1, kBytesAtOnce / std::max<int64_t>(1, tensor.row_bytes()));
            std::vector<std::byte> buffer;
            for (int64_t first = 0; first < tensor.rows(); first += at_once) {
              const RowSpan rows{first, std::min(at_once, tensor.rows() - first)};
              sink(file.rows(tensor, rows, buffer));
              file.give_back(tensor.bytes.first(
                  std::min(tensor.bytes.size(), static_cast<size_t>((first + rows.count) * tensor.row_bytes()))));
            }
          }};
}

}  // namespace

ImportedModel write_imported_model(const std::filesystem::path& from, const ModelFolder& to) {
  require<IoError>(std::filesystem::exists(from), from.string(), "there is no such model");
  require<ConfigError>(is_foreign_model(from), from.string(), "is not a model of another program that heed reads");
  require_no_model(to);
  const ForeignModel model = read_foreign_model(from);
  const Tokenizers tokenizers = read_foreign_tokenizers(from, model);
  const std::shared_ptr<const TensorFile> weights = open_foreign_weights(model);
  std::vector<TensorSource> tensors;
  ImportedModel imported{.family = model.family, .notes = model.notes()};
  for (const StoredTensor& tensor : weights->tensors()) {
    tensors.push_back(source_of(*weights, tensor));
    imported.bytes += tensor.elements() * size_of(tensor.type);
  }
  imported.tensors = std::ssize(tensors);
  NewFolder folder(to.path);
  write_checked_safetensors(to.weights(), tensors, mark_of(model.config));
  save_description(to, description_of(model), tokenizers);
  copy_chat_template({from}, to);
  folder.keep();
  return imported;
}

}  // namespace heed
