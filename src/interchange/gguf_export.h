// A model directory as a GGUF file.
#pragma once

#include "checkpoint/model_directory.h"
#include "heed/export_types.h"

namespace heed {

GgufSummary write_gguf_model(const ModelFolder& from, const std::filesystem::path& to, GgufType type);

}  // namespace heed
