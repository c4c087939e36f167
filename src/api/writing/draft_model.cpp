#include "api/writing/draft_model.h"

#include <charconv>

#include "api/writing/same_vocabulary.h"

namespace heed {

DraftOptions drafts_named(const std::string& text, std::string_view where) {
  constexpr std::string_view kLayers = "layers:";
  if (text == "prompt") {
    return {.by = Drafts::prompt};
  }
  if (!text.starts_with(kLayers)) {
    require<ConfigError>(!text.empty(), where, "expected a model directory, prompt or layers:N");
    return {.by = Drafts::model, .model = text};
  }
  const std::string_view number = std::string_view(text).substr(kLayers.size());
  DraftOptions options{.by = Drafts::layers};
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), options.layers);
  require<ConfigError>(error == std::errc() && end == number.data() + number.size(), where,
                       "'{}' in {} is not an integer", number, text);
  return options;
}

LoadedDraft::LoadedDraft(const DraftOptions& options, const LoadedEnsemble& targets, Backend& backend, DType storage) {
  if (options.by == Drafts::none) {
    return;
  }
  const StoredModel& target = targets.first();
  validate(options, target.config().decoder_layers);
  if (options.by == Drafts::model) {
    const ModelFolder folder{options.model};
    require_architecture(folder, target.config().architecture);
    model_.emplace(folder, backend, storage);
    require_same_vocabularies({*model_, folder}, "draft for", {target, targets.folder()});
  }
  drafting_.emplace(Drafting{options, model_ ? &model_->model() : nullptr, log_});
  const auto bytes_of_all = static_cast<double>(targets.step_bytes());
  if (model_) {
    drafting_->share = static_cast<double>(model_->step_bytes()) / bytes_of_all;
  } else if (options.by == Drafts::layers) {
    const double share_of_target = static_cast<double>(target.step_bytes()) / bytes_of_all;
    drafting_->share = share_of_target * share_of_step(target.config(), options.layers);
  }
}

}  // namespace heed
