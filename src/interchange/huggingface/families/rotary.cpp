#include "interchange/huggingface/families/rotary.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/errors.h"
#include "base/text/excerpt.h"

namespace heed {
namespace {

std::string key_in(std::string_view table, std::string_view key) { return fmt::format("{}.{}", table, key); }

// The base: from both places, where a file has both.
double base_of(ConfigFile& file, std::string_view parameters, std::string_view old_key,
               std::optional<double> absent = {}) {
  const std::string new_key = key_in(parameters, "rope_theta");
  const bool is_new = file.has(new_key), is_old = file.has(old_key);
  require<FormatError>(is_new || is_old || absent, file.where(),
                       "has neither \"{}\" nor \"{}\", the base of rotary positions", old_key, new_key);
  const double base = file.number(is_new ? std::string_view(new_key) : old_key, absent);
  require<FormatError>(!is_new || !is_old || base == file.number(old_key), file.where(),
                       "\"{}\" and \"{}\" are different bases of rotary positions", old_key, new_key);
  require<FormatError>(base > 0.0, file.where(), "the base of rotary positions is {}, expected above 0", base);
  return base;
}

// The scaling of one table; the factor is 1 where there is none.
double read_scaling(ConfigFile& file, std::string_view table, ModelConfig& config) {
  if (!file.has(table)) {
    return 1.0;
  }
  const std::string kind_key =
      file.has(key_in(table, "rope_type")) ? key_in(table, "rope_type") : key_in(table, "type");
  const std::string kind = file.text(kind_key, "default");
  if (kind == "default") {
    return 1.0;
  }
  const std::string trained_key = key_in(table, "original_max_position_embeddings");
  const auto trained = [&] {
    return file.integer(file.has(trained_key) ? std::string_view(trained_key) : "original_max_position_embeddings",
                        config.max_length);
  };
  if (kind == "linear") {
    config.rotary_scaling = RotaryScaling::linear;
  } else if (kind == "llama3") {
    config.rotary_scaling = RotaryScaling::llama3;
    config.rotary_slow_turns = file.number(key_in(table, "low_freq_factor"));
    config.rotary_fast_turns = file.number(key_in(table, "high_freq_factor"));
    config.rotary_trained_length = trained();
  } else if (kind == "yarn") {
    config.rotary_scaling = RotaryScaling::yarn;
    config.rotary_fast_turns = file.number(key_in(table, "beta_fast"), 32.0);
    config.rotary_slow_turns = file.number(key_in(table, "beta_slow"), 1.0);
    config.rotary_trained_length = trained();
    for (const std::string_view key : {"mscale", "mscale_all_dim"}) {
      require<FormatError>(!file.has(key_in(table, key)), file.where(), "\"{}\" is not supported", key_in(table, key));
    }
    require<FormatError>(file.flag(key_in(table, "truncate"), true), file.where(), "\"{}\" false is not supported",
                         key_in(table, "truncate"));
    if (file.has(key_in(table, "attention_factor"))) {
      config.rotary_magnitude = file.number(key_in(table, "attention_factor"));
    }
  } else {
    fail<FormatError>(file.where(), "\"{}\" is \"{}\", a scaling of rotary positions that heed lacks", kind_key,
                      shown(kind));
  }
  return file.number(key_in(table, "factor"));
}

// The scaling, in the form that both old and new versions of the library read.
void write_scaling(ConfigFile& file, const ModelConfig& config, double factor) {
  const auto trained = config.rotary_trained_length > 0 ? config.rotary_trained_length
                                                        : static_cast<int64_t>(double(config.max_length) / factor);
  switch (config.rotary_scaling) {
    case RotaryScaling::linear:
      file.write("rope_scaling", {{"rope_type", "linear"}, {"factor", factor}});
      return;
    case RotaryScaling::llama3:
      file.write("rope_scaling", {{"rope_type", "llama3"},
                                  {"factor", factor},
                                  {"low_freq_factor", config.rotary_slow_turns},
                                  {"high_freq_factor", config.rotary_fast_turns},
                                  {"original_max_position_embeddings", trained}});
      return;
    case RotaryScaling::yarn:
      file.write("rope_scaling", {{"rope_type", "yarn"},
                                  {"factor", factor},
                                  {"beta_fast", config.rotary_fast_turns},
                                  {"beta_slow", config.rotary_slow_turns},
                                  {"original_max_position_embeddings", trained}});
      if (config.rotary_magnitude != 0.0) {
        file.write("rope_scaling.attention_factor", config.rotary_magnitude);
      }
      return;
    default:
      file.write("rope_scaling", nlohmann::json());
  }
}

}  // namespace

void exchange_rotary(ConfigFile& file, ModelConfig& config, std::string_view base_key) {
  constexpr double kBaseBeforeItWasASetting = 10000.0;
  if (file.is_written()) {
    file.write(base_key, std::ranges::max(config.rotary_base.values()));  // of a layer that has positions
    write_scaling(file, config, config.rotary_factor.of(0));
    return;
  }
  config.positions = Positions::rotary;
  config.rotary_base = base_of(file, "rope_parameters", base_key, kBaseBeforeItWasASetting);
  const bool is_new = file.has("rope_parameters.rope_type") || file.has("rope_parameters.type");
  config.rotary_factor = read_scaling(file, is_new ? "rope_parameters" : "rope_scaling", config);
}

void exchange_rotated_part(ConfigFile& file, ModelConfig& config, std::string_view part_key, double absent) {
  const auto width = static_cast<double>(config.width_of_head());
  if (file.is_written()) {
    file.write(part_key, config.rotary_width > 0 ? static_cast<double>(config.rotary_width) / width : 1.0);
    return;
  }
  // Transformers 5 writes the class's default beside what counts.
  const std::string_view key =
      file.first_of({"rope_parameters.partial_rotary_factor", part_key, "partial_rotary_factor"});
  const double part = file.number(key, absent);
  require<FormatError>(part > 0.0 && part <= 1.0, file.where(), "\"{}\" is {}, expected above 0 and at most 1", key,
                       part);
  if (part < 1.0) {
    config.rotary_width = static_cast<int64_t>(part * width);
  }
}

void exchange_rotary_by_layer(ConfigFile& file, ModelConfig& config, const std::vector<bool>& is_local) {
  if (file.is_written()) {
    // Layers of a kind that the model lacks have the other kind's base.
    const auto of_kind = [&](bool local) {
      const auto found = std::ranges::find(is_local, local) - is_local.begin();
      return found == std::ssize(is_local) ? 0 : found;
    };
    file.write("rope_theta", config.rotary_base.of(of_kind(false)));
    file.write("rope_local_base_freq", config.rotary_base.of(of_kind(true)));
    write_scaling(file, config, config.rotary_factor.of(of_kind(false)));
    return;
  }
  config.positions = Positions::rotary;
  const bool is_new = file.has("rope_parameters.full_attention");
  const double base = base_of(file, "rope_parameters.full_attention", "rope_theta");
  const double local_base = base_of(file, "rope_parameters.sliding_attention", "rope_local_base_freq");
  const double factor = read_scaling(file, is_new ? "rope_parameters.full_attention" : "rope_scaling", config);
  const std::string local_kind = key_in("rope_parameters.sliding_attention", "rope_type");
  require<FormatError>(file.text(local_kind, "default") == "default", file.where(),
                       "\"{}\" is \"{}\", but heed's windowed layers are not scaled", local_kind,
                       shown(file.text(local_kind, "default")));
  std::vector<double> bases, factors;
  for (const bool local : is_local) {
    bases.push_back(local ? local_base : base);
    factors.push_back(local ? 1.0 : factor);
  }
  config.rotary_base = PerLayer<double>(bases);
  config.rotary_factor = PerLayer<double>(factors);
}

}  // namespace heed
