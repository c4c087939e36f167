// The tokenizers of Hugging Face's directories: tokenizer.json, or the files that came before it.
#pragma once

#include <filesystem>

#include "interchange/foreign_model.h"
#include "text/translation_tokenizers.h"

namespace heed {

// For each role of the model's architecture; FormatError for files that are missing or wrong, and for more tokens than
// the model has rows.
Tokenizers read_huggingface_tokenizers(const std::filesystem::path& folder, const ForeignModel& model);

}  // namespace heed
