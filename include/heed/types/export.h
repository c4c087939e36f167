// Options and results of writing a model in another program's format.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "heed/types/interruption.h"
#include "heed/types/names.h"

namespace heed {

// How a GGUF file holds matrices.
enum class GgufType : uint8_t {
  f32,
  f16,
  bf16,
  q8_0,  // blocks of 32 columns: a scale in f16, and integers within +-127
  q4_0,  // the same with integers from -8 to 7
};

inline constexpr std::array<NamedValue<GgufType>, 5> kGgufTypeNames{{{"f32", GgufType::f32},
                                                                     {"f16", GgufType::f16},
                                                                     {"bf16", GgufType::bf16},
                                                                     {"q8_0", GgufType::q8_0},
                                                                     {"q4_0", GgufType::q4_0}}};

constexpr std::string_view name_of(GgufType type) { return name_among(kGgufTypeNames, type); }

// Other programs' formats.
enum class ExportFormat : uint8_t {
  gguf,         // a file for llama.cpp
  huggingface,  // a directory of Hugging Face's libraries
  ctranslate2,  // a directory of CTranslate2
};

inline constexpr std::array<NamedValue<ExportFormat>, 3> kExportFormatNames{
    {{"gguf", ExportFormat::gguf},
     {"huggingface", ExportFormat::huggingface},
     {"ctranslate2", ExportFormat::ctranslate2}}};

constexpr std::string_view name_of(ExportFormat format) { return name_among(kExportFormatNames, format); }

struct ExportOptions {
  std::string model;                        // a model, not an adapter
  std::string output;                       // the file or the directory to write
  std::optional<ExportFormat> format = {};  // none: by the file's name, which ends in .gguf
  // The type of all matrices. GGUF: one of kGgufTypeNames, f16 if empty; Hugging Face: f32, bf16 or f16; CTranslate2:
  // these or int8. For the last two, empty keeps the model's types.
  std::string type = {};
  Interruption interruption = {};  // InterruptedError, and nothing is left
};

struct ExportSummary {
  std::string form;  // the family that was written: "llama"
  int64_t tensors = 0;
  int64_t bytes = 0;  // of the weights' files
};

}  // namespace heed
