// A model directory as a GGUF file.
#pragma once

#include "checkpoint/model_directory.h"
#include "heed/types/export.h"

namespace heed {

GgufSummary write_gguf_model(const ModelFolder& from, const std::filesystem::path& to, GgufType type);

}  // namespace heed
