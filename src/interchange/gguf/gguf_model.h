// Models in GGUF files, as llama.cpp runs them: settings, tokenizer and chat template in the metadata, then tensors.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "interchange/foreign_model.h"
#include "text/tokenizer.h"

namespace heed {

bool is_gguf_model(const std::filesystem::path& path);

// FormatError for a file that is damaged, and for what the model needs and heed lacks.
ForeignModel read_gguf_model(const std::filesystem::path& path);
std::shared_ptr<const Tokenizer> read_gguf_tokenizer(const std::filesystem::path& path, const ForeignModel& model);

// The conversations' template, and how it spells the marks of a text.
struct ForeignChat {
  std::optional<std::string> text;
  std::optional<std::string> bos_token, eos_token;
};
ForeignChat read_gguf_chat(const std::filesystem::path& path);

}  // namespace heed
