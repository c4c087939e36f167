#include "heed/train.h"

#include "api/inside/run_training.h"
#include "api/stages/run_stages.h"
#include "kernels/devices/device_choice.h"
#include "ranks/job.h"

namespace heed {
namespace {

// The listener of ranks that do not report. It passes on the start, since all ranks get the signals that the first
// gets.
class QuietListener final : public TrainListener {
 public:
  explicit QuietListener(TrainListener& listener) : listener_(listener) {}
  void on_message(const std::string&) override {}
  void on_start() override { listener_.on_start(); }
  void on_status(const TrainStatus&) override {}
  void on_validation(const ValidationStatus&) override {}
  bool wants_to_stop() override { return false; }

 private:
  TrainListener& listener_;
};

}  // namespace

TrainResult train(const TrainOptions& options, TrainListener& of_caller) {
  const Ranks ranks = job_ranks();
  QuietListener quiet(of_caller);
  TrainListener& listener = ranks.is_first() ? of_caller : quiet;
  require_device_of_ranks(ranks, options.device);
  if (has_stages(options.recipe)) {
    require<ConfigError>(options.prepared.empty(), options.recipe,
                         "has stages, whose texts are not one prepared corpus: leave the corpus out, or name it as "
                         "data.prepared of a stage");
    const auto backend = make_backend(options.device, options.threads);
    return run_stages(options, {*backend, ranks, listener});
  }
  Recipe recipe = read_recipe(options.recipe, options.overrides,
                              options.start == TrainStart::resume ? options.output : std::string());
  if (!options.prepared.empty()) {
    recipe.prepared = options.prepared;
  }
  if (!options.layout.empty()) {
    recipe.training.layout = options.layout;
  }
  const auto backend = make_backend(options.device, options.threads);
  // A run that is resumed may read a corpus that was prepared from files that are gone.
  if (options.start == TrainStart::fresh && recipe.prepared.empty()) {
    recipe.validate_for_new_run();
    require_files(recipe, options.recipe);
  }
  return run_training({*backend, ranks, listener}, recipe, options.output, options.start);
}

}  // namespace heed
