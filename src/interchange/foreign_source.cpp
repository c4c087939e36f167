#include "interchange/foreign_source.h"

#include "interchange/huggingface/huggingface_model.h"
#include "interchange/huggingface/tokenizer_files.h"

namespace heed {

bool is_foreign_model(const std::filesystem::path& path) { return is_huggingface_model(path); }

ForeignModel read_foreign_model(const std::filesystem::path& path) { return read_huggingface_model(path); }

Tokenizers read_foreign_tokenizers(const std::filesystem::path& path, const ForeignModel& model) {
  return read_huggingface_tokenizers(path, model);
}

std::shared_ptr<const ForeignWeights> open_foreign_weights(const ForeignModel& model) {
  return std::make_shared<const ForeignWeights>(model.archive, model.names, model.config);
}

}  // namespace heed
