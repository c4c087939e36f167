// What sentence-transformers adds to an encoder: how a text's rows become its embedding.
#pragma once

#include <filesystem>

#include "interchange/exported_model.h"
#include "interchange/foreign_model.h"

namespace heed {

// Whether the folder lists modules.
bool has_sentence_modules(const std::filesystem::path& folder);
// The encoder's folder among the modules: the folder itself, or one in it.
std::filesystem::path encoder_folder(const std::filesystem::path& folder);

// Whether an encoder's folder says that texts are put into lower case before they are tokenized.
bool lower_cases_texts(const std::filesystem::path& encoder_folder);

// Reads the modules behind the encoder into the model: pooling, one linear layer, scaling to length 1, and the longest
// text. Adds the layer's tensors to the archive, under the module's path. FormatError for modules that heed lacks.
void add_sentence_modules(const std::filesystem::path& folder, ForeignModel& model, TensorArchive& archive);

// The folder of the linear layer, as it is written.
inline constexpr const char* kDenseModule = "2_Dense";

// Writes the modules behind a model that is no encoder with another head, unless its texts' embeddings are plain means
// without prompts, which need none, and adds the linear layer's tensors to the names.
void write_sentence_modules(const ExportedModel& model, ForeignNames& names, const std::filesystem::path& folder);

}  // namespace heed
