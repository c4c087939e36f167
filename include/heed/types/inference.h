// How a trained model is run.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "heed/types/context.h"
#include "heed/types/names.h"
#include "heed/types/precision.h"

namespace heed {

// The type in which the keys and values of a text's tokens are cached, and to which they are rounded where a given text
// is scored. automatic: that of the precision.
enum class CacheType : uint8_t { automatic, bf16, int8 };

inline constexpr std::array<NamedValue<CacheType>, 3> kCacheTypeNames{
    {{"auto", CacheType::automatic}, {"bf16", CacheType::bf16}, {"int8", CacheType::int8}}};

constexpr std::string_view name_of(CacheType type) { return name_among(kCacheTypeNames, type); }

struct InferenceOptions {
  Precision precision = Precision::automatic;
  int threads = 0;                         // 0: one per processor
  std::string device = "cpu";              // or "cuda", "cuda:1": an NVIDIA GPU
  CacheType cache = CacheType::automatic;  // of models that write
  // For language models whose attention is neither local nor linear: what several prompts begin with is read once, also
  // across calls. Up to this many bytes of keys and values stay for that, those of the latest prompts and texts, until
  // nothing has been written for five minutes. No text depends on it. 0: nothing is shared.
  int64_t prefix_bytes = 0;
  ContextOptions context = {};  // more tokens than in training, if the model's positions have no table
  // For models that write: the directories of others with the same architecture and vocabulary. The probability of each
  // next token is then the mean over all models.
  std::vector<std::string> ensemble = {};
};

}  // namespace heed
