// How another program's model is meant to be decoded, as far as its files say.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "heed/types/writing/generation.h"
#include "heed/types/writing/translation.h"

namespace heed {

struct DecodingDefaults {
  std::optional<int64_t> beam = {}, max_tokens = {}, min_tokens = {}, no_repeat_ngram = {}, top_k = {};
  std::optional<double> length_penalty = {}, repetition_penalty = {}, temperature = {}, top_p = {}, min_p = {};
  std::optional<EarlyStopping> early_stopping = {};

  bool operator==(const DecodingDefaults&) const = default;

  // Replaces a translator's, or a language model's, options where these say otherwise.
  void apply_to(TranslationOptions& options) const;
  void apply_to(GenerationOptions& options) const;
};

// Calls use(name, value) with a reference to each optional, by the names that config.json gives them.
template <class Defaults, class Use>
void for_each_default(Defaults& defaults, const Use& use) {
  use("beam", defaults.beam);
  use("length_penalty", defaults.length_penalty);
  use("early_stopping", defaults.early_stopping);
  use("max_tokens", defaults.max_tokens);
  use("min_tokens", defaults.min_tokens);
  use("no_repeat_ngram", defaults.no_repeat_ngram);
  use("temperature", defaults.temperature);
  use("top_k", defaults.top_k);
  use("top_p", defaults.top_p);
  use("min_p", defaults.min_p);
  use("repetition_penalty", defaults.repetition_penalty);
}

// "beam 4, length_penalty 0.6"; empty where none is set.
std::string describe(const DecodingDefaults& defaults);

}  // namespace heed
