// Shortlists in files: safetensors with a checksum, bound to the tokenizers that they were learned with.
#pragma once

#include <filesystem>

#include "text/shortlist.h"

namespace heed {

void save_shortlist(const std::filesystem::path& path, const ShortlistTable& table,
                    const TranslationTokenizers& tokenizers);
// FormatError, naming the file, where it is not a shortlist, is damaged, or was learned with other tokenizers.
Shortlist load_shortlist(const std::filesystem::path& path, const TranslationTokenizers& tokenizers);

}  // namespace heed
