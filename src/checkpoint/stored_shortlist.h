// Shortlists in files: safetensors with a checksum, bound to the tokenizers that they were learned with; and Marian's.
#pragma once

#include <filesystem>

#include "checkpoint/model_directory.h"
#include "text/shortlist.h"

namespace heed {

void save_shortlist(const std::filesystem::path& path, const ShortlistTable& table,
                    const TranslationTokenizers& tokenizers);
// FormatError, naming the file, where it is not a shortlist, is damaged, or was learned with other tokenizers.
Shortlist load_shortlist(const std::filesystem::path& path, const TranslationTokenizers& tokenizers);
// Any that is for this model: heed's own, or a lexical one of Marian's. How much a text of Marian's keeps follows from
// the decoder.yml that names it, if it is in the model's folder.
Shortlist open_shortlist(const std::filesystem::path& path, const ModelFolder& model,
                         const TranslationTokenizers& tokenizers);

}  // namespace heed
