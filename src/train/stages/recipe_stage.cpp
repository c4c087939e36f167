#include "train/stages/recipe_stage.h"

#include <iterator>

#include "decode/search/search.h"

namespace heed {
namespace {

std::vector<Setting> translate_settings(TranslateStage& stage) {
  TranslationOptions& options = stage.options;
  return {file_setting("input", stage.input),
          setting("beam", options.beam),
          setting("n_best", options.n_best),
          setting("groups", options.groups),
          setting("diversity", options.diversity),
          setting("length_penalty", options.length_penalty),
          setting("max_length", options.max_length),
          setting("source_language", options.languages.source),
          setting("target_language", options.languages.target),
          choice("precision", stage.precision, kPrecisionNames)};
}

std::vector<Setting> shortlist_settings(ShortlistStage& stage) {
  return {file_setting("source", stage.source), file_setting("target", stage.target), setting("best", stage.best),
          setting("frequent", stage.frequent)};
}

std::vector<Setting> quantize_settings(QuantizeStage& stage) {
  return {choice("type", stage.type, kWeightTypeNames), setting("keep", stage.keep), setting("group", stage.group),
          file_setting("calibration", stage.calibration), file_setting("calibration_target", stage.calibration_target)};
}

std::vector<Setting> settings_of_kind(RecipeStage& stage) {
  switch (stage.kind) {
    case StageKind::translate:
      return translate_settings(stage.translate);
    case StageKind::shortlist:
      return shortlist_settings(stage.shortlist);
    case StageKind::quantize:
      return quantize_settings(stage.quantize);
    case StageKind::train:
      break;
  }
  return {};
}

}  // namespace

std::vector<std::string_view> RecipeStage::results() const {
  switch (kind) {
    case StageKind::translate:
      return {"source", "target"};
    case StageKind::shortlist:
      return {"shortlist"};
    case StageKind::train:
    case StageKind::quantize:
      break;
  }
  return {""};
}

std::vector<KeptWeights> QuantizeStage::kept_weights() const {
  std::vector<KeptWeights> all;
  all.reserve(keep.size());
  for (const std::string& kept : keep) {
    const size_t equals = kept.rfind('=');
    require<ConfigError>(equals != std::string::npos, "keep", "has '{}', expected PATTERN=TYPE", kept);
    all.push_back({kept.substr(0, equals), value_named("keep", kept.substr(equals + 1), kWeightTypeNames)});
  }
  return all;
}

SettingTable stage_settings(RecipeStage& stage) {
  SettingTable table{
      stage.name,
      {setting("name", stage.name), choice("kind", stage.kind, kStageKindNames), setting("from", stage.from)},
      {}};
  table.settings.push_back(stage.kind == StageKind::train ? setting("ends_by", stage.ends_by)
                                                          : file_setting("model", stage.model));
  std::ranges::move(settings_of_kind(stage), std::back_inserter(table.settings));
  return table;
}

void validate(const RecipeStage& stage) {
  const std::string_view where = name_of(stage.kind);
  const auto require_file = [&](std::string_view key, const std::string& file) {
    require<ConfigError>(!file.empty(), where, "names no {}", key);
    require<ConfigError>(file != "-", where, "{} is the standard input, which cannot be read again", key);
  };
  require<ConfigError>(stage.kind == StageKind::train || stage.from.empty() != stage.model.empty(), where,
                       "needs a model: from, the name of a stage, or model, a directory, and not both");
  require<ConfigError>(stage.ends_by >= 0.0, where, "ends_by is {:g}, expected minutes, or 0", stage.ends_by);
  if (stage.kind == StageKind::translate) {
    require_file("input", stage.translate.input);
    heed::validate(stage.translate.options);
  } else if (stage.kind == StageKind::shortlist) {
    require_file("source", stage.shortlist.source);
    require_file("target", stage.shortlist.target);
    require<ConfigError>(stage.shortlist.best >= 1 && stage.shortlist.frequent >= 0, where,
                         "best is {} and frequent {}, expected at least 1 and 0", stage.shortlist.best,
                         stage.shortlist.frequent);
  } else if (stage.kind == StageKind::quantize) {
    stage.quantize.kept_weights();
  }
}

}  // namespace heed
