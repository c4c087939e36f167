#include "heed/train.h"

#include "base/text/plural.h"
#include "kernels/devices/device_choice.h"
#include "ranks/job.h"
#include "train/run/trainer.h"

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
  Recipe recipe = read_recipe(options.recipe, options.overrides,
                              options.start == TrainStart::resume ? options.output : std::string());
  if (!options.prepared.empty()) {
    recipe.prepared = options.prepared;
  }
  if (!options.layout.empty()) {
    recipe.training.layout = options.layout;
  }
  require<ConfigError>(ranks.is_alone() || options.device == "cpu", "ranks",
                       "several ranks train only on processors, but the device is {}", options.device);
  const auto backend = make_backend(options.device, options.threads);
  // A run that is resumed may read a corpus that was prepared from files that are gone.
  if (options.start == TrainStart::fresh && recipe.prepared.empty()) {
    recipe.validate_for_new_run();
    require_files(recipe, options.recipe);
  }
  Trainer trainer(*backend, recipe, ModelFolder{options.output}, options.start, listener, ranks);
  const int64_t all = trainer.parameters(), trained = trainer.trained_parameters();
  const std::string where = backend->device() == Device::cpu
                                ? fmt::format("{} thread{}", backend->threads(), plural(backend->threads()))
                                : backend->device_name();
  listener.on_message(fmt::format("{} parameters{}, {}, {}{}", all,
                                  trained == all ? "" : fmt::format(" ({} trained, {} frozen)", trained, all - trained),
                                  name_of(storage_of(recipe.training.precision)), where,
                                  ranks.is_alone() ? "" : fmt::format(" on each of {} ranks", ranks.count())));
  return {.reason = trainer.run(), .parameters = trainer.parameters(), .rank = ranks.rank()};
}

}  // namespace heed
