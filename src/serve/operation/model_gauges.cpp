#include "serve/operation/model_gauges.h"

#include <fmt/format.h>

#include <optional>

namespace heed::serve {

void add_model_gauges(const std::vector<ModelStore::Known>& models, std::vector<Metrics::Gauge>& gauges) {
  const auto add = [&](std::string_view name, std::string_view help, const auto& value) {
    for (const ModelStore::Known& known : models) {
      if (const std::optional<double> found = value(known)) {
        gauges.push_back({name, help, fmt::format("model={}", label_value(known.settings.name)), *found});
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
  add("heed_steps", "Steps of the model since it was loaded", of_workload(&Workload::steps));
  add("heed_step_tokens", "Tokens that these steps have read", of_workload(&Workload::tokens));
}

}  // namespace heed::serve
