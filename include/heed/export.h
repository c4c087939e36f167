// Writing a model in another program's format.
#pragma once

#include "heed/types/export.h"

namespace heed {

// Writes a language model of the Llama or GPT-2 form with its bpe tokenizer for llama.cpp; docs/export.md says what
// these forms are. Gains stay in f32. ConfigError names the setting that does not fit, FormatError and IoError what is
// wrong with a file.
GgufSummary export_gguf(const GgufOptions& options);

}  // namespace heed
