// A stage of a recipe: one of several steps, each of which trains a model or makes something that others need.
#pragma once

#include <string>
#include <vector>

#include "base/settings.h"
#include "heed/types/precision.h"
#include "heed/types/quantize.h"
#include "heed/types/weight_type.h"
#include "heed/types/writing/translation.h"

namespace heed {

enum class StageKind : uint8_t { train, translate, shortlist, quantize };

inline constexpr std::array<NamedValue<StageKind>, 4> kStageKindNames{{{"train", StageKind::train},
                                                                       {"translate", StageKind::translate},
                                                                       {"shortlist", StageKind::shortlist},
                                                                       {"quantize", StageKind::quantize}}};

constexpr std::string_view name_of(StageKind kind) { return name_among(kStageKindNames, kind); }

// Translations of a text, in the files "source" and "target" of the stage's folder: with n_best above 1, each line of
// the text is there as often as it has translations. A line that is too long for the model has an empty one.
struct TranslateStage {
  std::string input;  // a file
  TranslationOptions options{.beam = 4};
  Precision precision = Precision::automatic;
};

// A vocabulary shortlist, in the file "shortlist" of the stage's folder.
struct ShortlistStage {
  std::string source, target;  // files
  int64_t best = 100, frequent = 100;
};

struct QuantizeStage {
  WeightType type = WeightType::int8;
  std::vector<std::string> keep;  // PATTERN=TYPE
  int64_t group = 32;
  std::string calibration, calibration_target;  // files

  std::vector<KeptWeights> kept_weights() const;  // ConfigError for what is not PATTERN=TYPE
};

struct RecipeStage {
  std::string name;
  StageKind kind = StageKind::train;
  // The stage whose model it begins from or uses; of a train stage, empty: training.from.
  std::string from;
  std::string model;  // instead of that stage's: the directory of a model; not of a train stage
  // When a train stage ends, in minutes since the first stage began. What the stages before it did not take, or took
  // beyond what was planned, is gained or lost here. 0: training.minutes says how long it may take.
  double ends_by = 0.0;
  TranslateStage translate;
  ShortlistStage shortlist;
  QuantizeStage quantize;

  bool leaves_model() const { return kind == StageKind::train || kind == StageKind::quantize; }
  // What other stages may name of its folder; "" is the folder itself.
  std::vector<std::string_view> results() const;
};

// The keys of the stage itself, by its kind. The table is called as the stage is.
SettingTable stage_settings(RecipeStage& stage);

// Throws ConfigError, with a message that a user can act on, for values that no stage of its kind can have.
void validate(const RecipeStage& stage);

}  // namespace heed
