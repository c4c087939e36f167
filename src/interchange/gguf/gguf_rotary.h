// Rotary positions in GGUF files.
#pragma once

#include "interchange/archive/tensor_archive.h"
#include "interchange/gguf/gguf.h"
#include "interchange/gguf/gguf_settings.h"
#include "models/config.h"

namespace heed {

// The tensor whose values each pair's angle is divided by; Llama 3's scaling is written as one.
constexpr std::string_view kRotaryFactors = "rope_freqs.weight";

// Base, width and scaling, which may be tables of divisors. FormatError for scalings that heed lacks. The width of a
// head must be known.
void read_gguf_rotary(GgufSettings& settings, const TensorArchive& archive, ModelConfig& config);

// The other way round: what says a scaling by `factor`, and the tensor that Llama 3's is written as. Nothing where there
// is none.
std::vector<GgufEntry> gguf_scaling_entries(std::string_view architecture, const ModelConfig& config, double factor);
std::optional<GgufTensor> gguf_rotary_divisors(const ModelConfig& config);

// The settings of Llama 3's scaling that give these divisors, or nothing if none do: see RotaryPairs::frequency().
struct RotaryDivisors {
  std::span<const float> values;  // one for each pair
  double base;
};
struct Llama3Scaling {
  double factor, slow_turns, fast_turns;
  int64_t trained_length;
};
std::optional<Llama3Scaling> llama3_scaling_of(const RotaryDivisors& divisors);

}  // namespace heed
