#include "interchange/gguf/gguf_rotary.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/text/excerpt.h"
#include "kernels/rotary_scale.h"

namespace heed {
namespace {

// Divisors are stored in f32.
constexpr double kRelativeOfDivisors = 2e-6;
// The divisors do not tell the trained length: only its product with the turns matters.
constexpr int64_t kUsualTrainedLength = 8192;
constexpr double kUsualSlowTurns = 1.0, kUsualFastTurns = 4.0;

double plain_frequency(const RotaryDivisors& divisors, size_t pair) {
  return std::pow(divisors.base, -static_cast<double>(pair) / static_cast<double>(divisors.values.size()));
}

double turns_of(const RotaryDivisors& divisors, size_t pair) {
  return static_cast<double>(kUsualTrainedLength) * plain_frequency(divisors, pair) / (2.0 * std::numbers::pi);
}

bool gives(const Llama3Scaling& scaling, const RotaryDivisors& divisors) {
  const RotaryPairs pairs{.dims = 2 * static_cast<int64_t>(divisors.values.size()),
                          .base = divisors.base,
                          .scale = {.scaling = RotaryScaling::llama3,
                                    .factor = scaling.factor,
                                    .trained_length = static_cast<double>(scaling.trained_length),
                                    .slow_turns = scaling.slow_turns,
                                    .fast_turns = scaling.fast_turns}};
  for (size_t i = 0; i < divisors.values.size(); ++i) {
    const double divisor = plain_frequency(divisors, i) / pairs.frequency(static_cast<int64_t>(i));
    if (!(std::abs(divisor - static_cast<double>(divisors.values[i])) <= kRelativeOfDivisors * divisor)) {
      return false;
    }
  }
  return true;
}

// The shares of plain frequencies lie on a line, w = (turns - slow) / (fast - slow): the one through the outermost of
// the pairs between; where there are fewer than two, one that keeps clear of the other pairs.
Llama3Scaling line_through(const RotaryDivisors& divisors, double factor) {
  struct Point {
    double turns, share;
  };
  std::vector<Point> between;
  double slowest_plain = INFINITY, fastest_divided = 0.0;
  for (size_t i = 0; i < divisors.values.size(); ++i) {
    const double divisor = static_cast<double>(divisors.values[i]), turns = turns_of(divisors, i);
    const double share = (1.0 / divisor - 1.0 / factor) / (1.0 - 1.0 / factor);
    if (divisor == 1.0) {
      slowest_plain = std::min(slowest_plain, turns);
    } else if (divisor >= factor) {
      fastest_divided = std::max(fastest_divided, turns);
    } else {
      between.push_back({turns, share});
    }
  }
  Llama3Scaling scaling{factor, 0.0, 0.0, kUsualTrainedLength};
  if (between.size() > 1) {
    const Point a = between.front(), b = between.back();
    const double slope = (a.share - b.share) / (a.turns - b.turns);
    scaling.slow_turns = a.turns - a.share / slope;
    scaling.fast_turns = scaling.slow_turns + 1.0 / slope;
    return scaling;
  }
  const double end = std::isinf(slowest_plain) ? 4.0 * fastest_divided + 1.0 : slowest_plain;
  if (between.empty()) {
    scaling.slow_turns = (2.0 * fastest_divided + end) / 3.0;
    scaling.fast_turns = (fastest_divided + 2.0 * end) / 3.0;
    return scaling;
  }
  const auto [turns, share] = between.front();
  for (double part = 0.5; part > 1e-6; part /= 2.0) {
    scaling.slow_turns = turns - part * (turns - fastest_divided);
    scaling.fast_turns = scaling.slow_turns + (turns - scaling.slow_turns) / share;
    if (scaling.fast_turns <= end) {
      break;
    }
  }
  return scaling;
}

void read_divisors(GgufSettings& settings, const TensorArchive& archive, ModelConfig& config) {
  const std::string& where = settings.where();
  const ArchiveTensor* const tensor = archive.find(kRotaryFactors);
  if (tensor == nullptr) {
    return;
  }
  const int64_t pairs = (config.rotary_width > 0 ? config.rotary_width : config.width_of_head()) / 2;
  require<FormatError>(tensor->elements() == pairs, where, "{}, but a head has {} pairs", tensor->text(), pairs);
  const std::vector<float> values = read_floats(*tensor);
  if (std::ranges::all_of(values, [](float x) { return x == 1.0F; })) {
    return;
  }
  require<FormatError>(config.rotary_scaling == RotaryScaling::none, where,
                       "has both '{}' and another scaling of rotary positions", kRotaryFactors);
  const std::optional<Llama3Scaling> scaling = llama3_scaling_of({values, config.rotary_base.of(0)});
  require<FormatError>(scaling.has_value(), where,
                       "'{}' holds divisors of another scaling of rotary positions than Llama 3's, which heed lacks",
                       kRotaryFactors);
  settings.note_tensor(kRotaryFactors, fmt::format("Llama 3's scaling by {}", scaling->factor));
  config.rotary_scaling = RotaryScaling::llama3;
  config.rotary_factor = scaling->factor;
  config.rotary_slow_turns = scaling->slow_turns;
  config.rotary_fast_turns = scaling->fast_turns;
  config.rotary_trained_length = scaling->trained_length;
}

double factor_in(GgufSettings& settings) {
  const std::string_view key = settings.has("rope.scaling.factor") || !settings.has("rope.scale_linear")
                                   ? "rope.scaling.factor"
                                   : "rope.scale_linear";
  const double factor = settings.number(key, 0.0);
  return factor == 0.0 ? 1.0 : factor;  // 0 stands for none
}

// YaRN's magnitude, which an attention factor multiplies.
double usual_magnitude(double factor) { return 0.1 * std::log(factor) + 1.0; }

void read_yarn(GgufSettings& settings, double factor, ModelConfig& config) {
  config.rotary_scaling = RotaryScaling::yarn;
  config.rotary_trained_length = settings.size("rope.scaling.original_context_length", config.max_length);
  config.rotary_fast_turns = settings.number("rope.scaling.yarn_beta_fast", 32.0);
  config.rotary_slow_turns = settings.number("rope.scaling.yarn_beta_slow", 1.0);
  settings.require_neutral("rope.scaling.yarn_ext_factor", 1.0);
  settings.require_neutral("rope.scaling.yarn_attn_factor", 1.0);
  const double magnitude = settings.number("rope.scaling.attn_factor", 1.0);
  if (magnitude != 1.0) {
    config.rotary_magnitude = magnitude * usual_magnitude(factor);
  }
}

}  // namespace

std::optional<Llama3Scaling> llama3_scaling_of(const RotaryDivisors& divisors) {
  const double factor = static_cast<double>(*std::ranges::max_element(divisors.values));
  if (!std::ranges::all_of(divisors.values, [](float x) { return x >= 1.0F; }) || !std::isfinite(factor) ||
      factor <= 1.0) {
    return std::nullopt;
  }
  constexpr int64_t kShortest = 256, kLongest = 1 << 20;
  for (int64_t length = kShortest; length <= kLongest; length *= 2) {
    const Llama3Scaling usual{factor, kUsualSlowTurns, kUsualFastTurns, length};
    if (gives(usual, divisors)) {
      return usual;
    }
  }
  const Llama3Scaling found = line_through(divisors, factor);
  const bool is_valid =
      found.slow_turns > 0.0 && found.slow_turns < found.fast_turns && std::isfinite(found.fast_turns);
  return is_valid && gives(found, divisors) ? std::optional(found) : std::nullopt;
}

std::vector<GgufEntry> gguf_scaling_entries(std::string_view architecture, const ModelConfig& config, double factor) {
  const std::string prefix = fmt::format("{}.rope.scaling.", architecture);
  const bool is_yarn = config.rotary_scaling == RotaryScaling::yarn;
  if (!is_yarn && config.rotary_scaling != RotaryScaling::linear) {
    return {};
  }
  std::vector<GgufEntry> entries{{prefix + "type", std::string(is_yarn ? "yarn" : "linear")},
                                 {prefix + "factor", static_cast<float>(factor)}};
  if (!is_yarn) {
    return entries;
  }
  const RotaryScale scale = config.rotary(0).scale;
  entries.push_back({prefix + "original_context_length", static_cast<uint32_t>(scale.trained_length)});
  for (const auto& [key, turns] :
       {std::pair("yarn_beta_fast", scale.fast_turns), std::pair("yarn_beta_slow", scale.slow_turns)}) {
    if (turns > 0.0) {
      entries.push_back({prefix + key, static_cast<float>(turns)});
    }
  }
  if (scale.magnitude != 0.0) {
    entries.push_back({prefix + "attn_factor", static_cast<float>(scale.magnitude / usual_magnitude(factor))});
  }
  return entries;
}

std::optional<GgufTensor> gguf_rotary_divisors(const ModelConfig& config) {
  if (config.positions != Positions::rotary || config.rotary_scaling != RotaryScaling::llama3) {
    return std::nullopt;
  }
  const Rotary rotary = config.rotary(0);
  const auto values = [rotary] {
    const RotaryPairs scaled{rotary.dims, rotary.base, rotary.scale}, plain{rotary.dims, rotary.base, {}};
    std::vector<float> divisors;
    for (int64_t pair = 0; pair < rotary.dims / 2; ++pair) {
      divisors.push_back(static_cast<float>(plain.frequency(pair) / scaled.frequency(pair)));
    }
    return divisors;
  };
  return GgufTensor{std::string(kRotaryFactors), {rotary.dims / 2}, GgufType::f32, values};
}

void read_gguf_rotary(GgufSettings& settings, const TensorArchive& archive, ModelConfig& config) {
  config.positions = Positions::rotary;
  const double base = settings.number("rope.freq_base", 10000.0);
  require<FormatError>(base > 0.0, settings.where(), "'{}' is {}, expected above 0", settings.full("rope.freq_base"),
                       base);
  config.rotary_base = base;
  const int64_t width = settings.size("rope.dimension_count", config.width_of_head());
  config.rotary_width = width == config.width_of_head() ? 0 : width;
  const double factor = factor_in(settings);
  // Where no type is said, a factor is that of a linear scaling.
  const std::string type = settings.text("rope.scaling.type", factor == 1.0 ? "none" : "linear");
  if (type == "yarn") {
    read_yarn(settings, factor, config);
  } else {
    require<FormatError>(type == "none" || type == "linear", settings.where(),
                         "'{}' is '{}', a scaling of rotary positions that heed lacks",
                         settings.full("rope.scaling.type"), shown(type));
    config.rotary_scaling = type == "linear" && factor != 1.0 ? RotaryScaling::linear : RotaryScaling::none;
    settings.require_neutral("rope.scaling.attn_factor", 1.0);
  }
  require<FormatError>(config.rotary_scaling == RotaryScaling::none || factor >= 1.0, settings.where(),
                       "'{}' is {}, expected at least 1", settings.full("rope.scaling.factor"), factor);
  if (config.rotary_scaling != RotaryScaling::none) {
    config.rotary_factor = factor;
  }
  read_divisors(settings, archive, config);
}

}  // namespace heed
