#include "interchange/huggingface/rotary.h"

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

}  // namespace

void read_rotary(ConfigFile& file, ModelConfig& config, std::string_view base_key) {
  constexpr double kBaseBeforeItWasASetting = 10000.0;
  config.positions = Positions::rotary;
  config.rotary_base = base_of(file, "rope_parameters", base_key, kBaseBeforeItWasASetting);
  const bool is_new = file.has("rope_parameters.rope_type") || file.has("rope_parameters.type");
  config.rotary_factor = read_scaling(file, is_new ? "rope_parameters" : "rope_scaling", config);
}

void read_rotated_part(ConfigFile& file, ModelConfig& config, std::string_view part_key, double absent) {
  // Transformers 5 writes the class's default beside what counts.
  const std::string_view key =
      file.first_of({"rope_parameters.partial_rotary_factor", part_key, "partial_rotary_factor"});
  const double part = file.number(key, absent);
  require<FormatError>(part > 0.0 && part <= 1.0, file.where(), "\"{}\" is {}, expected above 0 and at most 1", key,
                       part);
  if (part < 1.0) {
    config.rotary_width = static_cast<int64_t>(part * static_cast<double>(config.width_of_head()));
  }
}

void read_rotary_by_layer(ConfigFile& file, ModelConfig& config, const std::vector<bool>& is_local) {
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
