// A model of heed's as a directory of CTranslate2.
#pragma once

#include <filesystem>

#include "heed/types/export.h"
#include "interchange/exported_model.h"

namespace heed {

// How matrices are written.
enum class CTranslate2Type : uint8_t { as_stored, f32, bf16, f16, int8 };

// model.bin of binary version 6, config.json and the vocabularies; SentencePiece's models where the tokenizers are made
// of them. Positions that are not CTranslate2's own sinusoids become a table. ConfigError, naming the setting, for a
// model that is not what CTranslate2 has: what was written is read again and compared.
ExportSummary write_ctranslate2_model(const ExportedModel& model, const std::filesystem::path& folder,
                                      CTranslate2Type type);

}  // namespace heed
