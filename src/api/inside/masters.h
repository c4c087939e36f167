// The weights of a model directory, in f32, as training has them.
#pragma once

#include <filesystem>

#include "checkpoint/model_directory.h"
#include "nn/weights/trainables.h"

namespace heed {

// ConfigError, naming the path, for weights that this machine cannot hold with as many numbers beside each as the
// `copies` say, before memory is allocated for them.
void require_memory_for(const Weights& weights, int64_t copies, const std::filesystem::path& path);

// Reads them into the masters: of another program's model too, and an adapter's with those of its base. FormatError for
// quantized ones.
void load_masters_of(const ModelFolder& folder, const ModelConfig& config, Backend& backend, Trainables& trainables);

}  // namespace heed
