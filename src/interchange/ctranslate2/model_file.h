// model.bin of a CTranslate2 directory, binary versions 2 to 6.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "interchange/archive/tensor_archive.h"

namespace heed {

// Its variables. An integer matrix has its scale as divisors, which is a tensor of its own too (NAME_scale); tied tables
// are aliases; settings are scalars among the tensors.
struct CTranslate2File {
  uint32_t version, revision;  // of the binary form, and of the model's description
  std::string spec;            // what describes it: "TransformerSpec"
  TensorArchive tensors;

  // A setting: an integer, a flag or a number, of any type; or a text, which is a vector of characters. FormatError,
  // naming file and variable, for one of another shape.
  std::optional<double> find_number(std::string_view name) const;
  std::optional<std::string> find_text(std::string_view name) const;
};

// FormatError for anything that the format does not allow, and for 4-bit quantization.
CTranslate2File open_ctranslate2_file(const std::filesystem::path& path);

}  // namespace heed
