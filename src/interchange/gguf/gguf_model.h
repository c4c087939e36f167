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

// Calls use(key, value) for each way of decoding that the format has a key for.
template <class Defaults, class Use>
void for_each_gguf_default(Defaults& defaults, const Use& use) {
  use("general.sampling.temp", defaults.temperature);
  use("general.sampling.top_k", defaults.top_k);
  use("general.sampling.top_p", defaults.top_p);
  use("general.sampling.min_p", defaults.min_p);
  use("general.sampling.penalty_repeat", defaults.repetition_penalty);
}

// The conversations' template, and how it spells the marks of a text.
struct ForeignChat {
  std::optional<std::string> text;
  std::optional<std::string> bos_token, eos_token;
};
ForeignChat read_gguf_chat(const std::filesystem::path& path);

}  // namespace heed
