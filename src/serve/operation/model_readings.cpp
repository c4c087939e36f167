#include "serve/operation/model_readings.h"

#include <fmt/format.h>

#include <optional>

namespace heed::serve {

namespace {

Metrics::Distribution step_sizes(const std::vector<ModelStore::Known>& models) {
  Metrics::Distribution sizes{"heed_step_tokens", "Tokens that a step of the model reads", {}, {}};
  for (size_t i = 0; i + 1 < Workload::kSizes; ++i) {
    sizes.bounds.push_back(static_cast<double>(int64_t{1} << i));
  }
  for (const ModelStore::Known& known : models) {
    if (known.model) {
      const Workload workload = known.model->workload();
      sizes.models[known.settings.name] = {{workload.steps_by_size.begin(), workload.steps_by_size.end()},
                                           static_cast<double>(workload.tokens)};
    }
  }
  return sizes;
}

}  // namespace

void add_model_readings(const std::vector<ModelStore::Known>& models, Metrics::Readings& readings) {
  const auto add = [&](std::string_view name, std::string_view help, const auto& value) {
    for (const ModelStore::Known& known : models) {
      if (const std::optional<double> found = value(known)) {
        readings.gauges.push_back({name, help, fmt::format("model={}", label_value(known.settings.name)), *found});
      }
    }
  };
  const auto of_workload = [](auto member) {
    return [member](const ModelStore::Known& known) -> std::optional<double> {
      return known.model ? std::optional(static_cast<double>(known.model->workload().*member)) : std::nullopt;
    };
  };
  add("heed_model_loaded", "Whether a model is in memory",
      [](const ModelStore::Known& known) { return std::optional(known.model ? 1.0 : 0.0); });
  add("heed_waiting_texts", "Texts that wait for their turn", of_workload(&Workload::waiting));
  add("heed_running_texts", "Texts that are being read or written", of_workload(&Workload::running));
  add("heed_sequences", "Sequences that are being written", of_workload(&Workload::sequences));
  add("heed_used_pages", "Pages of keys and values in use", of_workload(&Workload::used_pages));
  add("heed_free_pages", "Pages of keys and values that are free", of_workload(&Workload::free_pages));
  const auto of_prefixes = [](auto member) {
    return [member](const ModelStore::Known& known) -> std::optional<double> {
      return known.model ? std::optional(static_cast<double>(known.model->prefixes().*member)) : std::nullopt;
    };
  };
  add("heed_prefix_hits", "Prompts that began like another", of_prefixes(&PrefixReport::hits));
  add("heed_prefix_saved_tokens", "Tokens of prompts that were not read again", of_prefixes(&PrefixReport::saved));
  readings.distributions.push_back(step_sizes(models));
}

}  // namespace heed::serve
