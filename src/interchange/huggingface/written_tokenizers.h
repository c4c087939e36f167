// The tokenizers of a model as files of a Hugging Face directory.
#pragma once

#include <filesystem>
#include <string>

#include "interchange/exported_model.h"

namespace heed {

// What tokenizer_config.json has as "language_codes" where a model of a family of many languages has one pair.
inline constexpr const char* kNoLanguages = "none";

// tokenizer.json and tokenizer_config.json, to which it adds what the folder's own lacks; for a Marian model with two
// tokenizers source.spm, target.spm and their vocabularies. ConfigError for what the family's files cannot express.
void write_huggingface_tokenizers(const ExportedModel& model, const std::string& family,
                                  const std::filesystem::path& folder);

}  // namespace heed
