#include "api/stages/run_stages.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "api/stages/translate_stage.h"
#include "base/system/clock.h"
#include "base/system/files.h"
#include "base/system/new_folder.h"
#include "checkpoint/adapter.h"
#include "heed/quantize.h"
#include "heed/shortlist.h"
#include "train/run/run_folder.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBusy =
    "another process runs the stages of this folder: wait for it, or choose another folder";

class StageRuns {
 public:
  StageRuns(const TrainOptions& options, const TrainingMeans& means)
      : options_(options),
        means_(means),
        recipe_(options.recipe, options.overrides, options.output),
        folder_(recipe_.folder()) {}
  // A run that fails before there is something to resume leaves nothing.
  ~StageRuns() {
    if (new_folder_ && has_begun()) {
      new_folder_->keep();
    }
  }
  StageRuns(const StageRuns&) = delete;
  StageRuns& operator=(const StageRuns&) = delete;

  TrainResult run() {
    begin();
    TrainResult result{.reason = EndReason::updates, .parameters = 0, .rank = means_.ranks.rank()};
    const std::vector<RecipeStage>& stages = recipe_.stages();
    for (size_t i = 0; i < stages.size(); ++i) {
      const std::string what =
          fmt::format("stage {} of {}, {}: {}", i + 1, stages.size(), stages[i].name, name_of(stages[i].kind));
      if (agreed(fs::exists(folder_.finished(stages[i].name)))) {
        require_same(stages[i]);
        means_.listener.on_message(what + ", finished before");
      } else {
        means_.listener.on_message(what);
        const double begin = seconds_now();
        run_stage(stages[i], result);
        if (result.reason == EndReason::stopped) {
          return result;
        }
        // A training counts what it took before it was resumed, too.
        finish(stages[i], std::max(seconds_now() - begin, stages[i].kind == StageKind::train ? result.seconds : 0.0));
      }
      minutes_ += minutes_of(stages[i]);
    }
    if (is_first()) {
      publish();
    }
    means_.ranks.barrier();
    return result;
  }

 private:
  bool is_first() const { return means_.ranks.is_first(); }
  bool agreed(bool own) const { return means_.ranks.broadcast_text(own ? "yes" : "no") == "yes"; }

  // Before time is spent: nothing is written unless all stages can begin.
  void begin() {
    const bool there = agreed(fs::exists(folder_.list()));
    const std::string path = folder_.path.string();
    if (options_.start == TrainStart::resume) {
      require<ConfigError>(there, path, "holds no run of stages to resume: there is no {}",
                           folder_.list().filename().string());
    } else {
      require<ConfigError>(!there, path, "holds a run of stages already: resume it, or choose another folder");
      require_no_run({folder_.path});
      recipe_.require_files();
    }
    if (is_first()) {
      require_writable(folder_.path);
      if (!there) {
        new_folder_.emplace(folder_.path);
      }
      fs::create_directories(folder_.stages());
      lock_.emplace(folder_.path, kBusy);
      remove_unfinished_files(folder_.path);
      write_file(folder_.list(), recipe_.to_toml());
    }
    means_.ranks.barrier();
  }

  bool has_begun() const {
    return std::ranges::any_of(recipe_.stages(), [&](const RecipeStage& stage) {
      return fs::exists(folder_.finished(stage.name)) || fs::exists(parts_of(folder_, stage)) ||
             fs::exists(ModelFolder{folder_.of(stage.name)}.recipe());
    });
  }

  // A finished stage is not run again, so that other settings of it would have no effect.
  void require_same(const RecipeStage& stage) {
    if (stage.kind == StageKind::train) {
      require_same_run({folder_.of(stage.name)}, recipe_of_run({folder_.of(stage.name)}), training(stage));
    } else {
      require_same_settings(stage);
    }
  }

  void require_same_settings(const RecipeStage& stage) const {
    const fs::path file = folder_.settings(stage.name);
    if (fs::exists(file)) {
      RecipeStage before;
      before.name = stage.name;
      before.kind = stage.kind;
      RecipeStage now = stage;
      const std::string text = read_file(file);
      const SettingTable there = stage_settings(before), here = stage_settings(now);
      read_settings(text, file.string(), std::vector{there});
      for (size_t i = 0; i < here.settings.size(); ++i) {
        const std::string was = there.settings[i].show(), is = here.settings[i].show();
        require<ConfigError>(was == is, file.string(),
                             "{} was {} and is {} now: stages that have begun stay as they are", here.settings[i].name,
                             was, is);
      }
    }
  }

  Recipe training(const RecipeStage& stage) const {
    Recipe recipe = recipe_.read(stage, minutes_);
    if (!options_.layout.empty()) {
      recipe.training.layout = options_.layout;
    }
    return recipe;
  }

  void run_stage(const RecipeStage& stage, TrainResult& result) {
    if (stage.kind == StageKind::train) {
      const bool begun = agreed(fs::exists(ModelFolder{folder_.of(stage.name)}.recipe()));
      result = run_training(means_, training(stage), folder_.of(stage.name).string(),
                            begun ? TrainStart::resume : TrainStart::fresh);
      return;
    }
    if (is_first()) {
      if (fs::exists(parts_of(folder_, stage))) {
        require_same_settings(stage);
      }
      fs::create_directories(folder_.of(stage.name));
      RecipeStage copy = stage;
      write_file(folder_.settings(stage.name), to_toml(std::vector{stage_settings(copy)}));
    }
    if (stage.kind == StageKind::translate) {
      const StageEnd end = run_translate_stage(stage, folder_, options_, means_);
      result.reason = end == StageEnd::stopped ? EndReason::stopped : result.reason;
    } else if (is_first()) {
      stage.kind == StageKind::quantize ? quantize_model(stage) : make_shortlist(stage);
    }
  }

  std::string model_of(const RecipeStage& stage) const {
    return stage.from.empty() ? stage.model : folder_.of(stage.from).string();
  }

  void quantize_model(const RecipeStage& stage) const {
    const fs::path made = folder_.of(stage.name);
    // What a killed process left.
    for (const fs::directory_entry& entry : fs::directory_iterator(made)) {
      if (entry.path() != folder_.settings(stage.name)) {
        fs::remove_all(entry.path());
      }
    }
    const QuantizeStage& settings = stage.quantize;
    const QuantizeOptions options{.model = model_of(stage),
                                  .output = made.string(),
                                  .type = settings.type,
                                  .keep = settings.kept_weights(),
                                  .group = settings.group,
                                  .calibration = settings.calibration,
                                  .calibration_target = settings.calibration_target,
                                  .threads = options_.threads,
                                  .report = {}};
    const QuantizedWeights found = quantize(options);
    means_.listener.on_message(fmt::format("{} matrices, {} bytes instead of {}", found.matrices.size(),
                                           found.bytes_after, found.bytes_before));
  }

  void make_shortlist(const RecipeStage& stage) const {
    const ShortlistStage& settings = stage.shortlist;
    const ShortlistResult found = learn_shortlist({.model = model_of(stage),
                                                   .source = settings.source,
                                                   .target = settings.target,
                                                   .output = (folder_.of(stage.name) / "shortlist").string(),
                                                   .best = settings.best,
                                                   .frequent = settings.frequent,
                                                   .threads = options_.threads});
    means_.listener.on_message(fmt::format("{} targets of {} source tokens", found.pairs, found.tokens));
  }

  void finish(const RecipeStage& stage, double seconds) const {
    if (is_first()) {
      write_file(folder_.finished(stage.name), fmt::format("{:.1f} s\n", seconds));
      fs::remove_all(parts_of(folder_, stage));
    }
    means_.ranks.barrier();
  }

  // By the first rank's clock; 0 of a run that did not write it.
  double minutes_of(const RecipeStage& stage) const {
    const std::string seconds = is_first() ? read_file(folder_.finished(stage.name)) : "";
    return std::strtod(means_.ranks.broadcast_text(seconds).c_str(), nullptr) / 60.0;
  }

  // The last model becomes the folder's own, the recipe and the figures of its training with it, and the last
  // shortlist. The weights come last: who sees them has all.
  void publish() const {
    const RecipeStage& last = recipe_.last_model();
    const RecipeStage& training = recipe_.training_of(last);
    const ModelFolder from{folder_.of(last.name)}, of_training{folder_.of(training.name)}, to{folder_.path};
    std::vector<fs::path> files;
    for (const fs::directory_entry& entry : fs::directory_iterator(from.path)) {
      const fs::path name = entry.path().filename();
      if (entry.is_regular_file() && entry.path() != folder_.settings(last.name) &&
          entry.path() != folder_.finished(last.name) && name != from.weights().filename() &&
          name != from.adapter().filename()) {
        files.push_back(entry.path());
      }
    }
    if (training.name != last.name) {
      files.push_back(of_training.recipe());
      files.push_back(of_training.metrics());
    }
    for (const RecipeStage& stage : recipe_.stages()) {
      if (stage.kind == StageKind::shortlist) {
        files.push_back(folder_.of(stage.name) / "shortlist");
      }
    }
    if (holds_adapter(from)) {
      AdapterDescription description = load_adapter(from);
      description.base = fs::relative(from.path / description.base, to.path);
      save_adapter(to, description);
    } else {
      files.push_back(from.weights());
    }
    for (const fs::path& file : files) {
      copy(file, to.path / file.filename());
    }
  }

  static void copy(const fs::path& file, const fs::path& to) {
    const fs::path part = to.string() + ".part";
    fs::copy_file(file, part, fs::copy_options::overwrite_existing);
    fs::rename(part, to);
  }

  const TrainOptions& options_;
  const TrainingMeans& means_;
  StagedRecipe recipe_;
  StagesFolder folder_;
  double minutes_ = 0.0;  // of the stages that are finished
  // The first rank's:
  std::optional<NewFolder> new_folder_;
  std::optional<FolderLock> lock_;
};

}  // namespace

TrainResult run_stages(const TrainOptions& options, const TrainingMeans& means) {
  return StageRuns(options, means).run();
}

}  // namespace heed
