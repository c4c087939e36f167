#include "api/inside/run_training.h"

#include "base/text/plural.h"
#include "train/run/trainer.h"

namespace heed {

void require_device_of_ranks(const Ranks& ranks, const std::string& device) {
  require<ConfigError>(ranks.is_alone() || device == "cpu", "ranks",
                       "several ranks train only on processors, but the device is {}", device);
}

TrainResult run_training(const TrainingMeans& means, const Recipe& recipe, const std::string& output,
                         TrainStart start) {
  const auto& [backend, ranks, listener] = means;
  Trainer trainer(backend, recipe, ModelFolder{output}, start, listener, ranks);
  const int64_t all = trainer.parameters(), trained = trainer.trained_parameters();
  const std::string where = backend.device() == Device::cpu
                                ? fmt::format("{} thread{}", backend.threads(), plural(backend.threads()))
                                : backend.device_name();
  listener.on_message(fmt::format("{} parameters{}, {}, {}{}", all,
                                  trained == all ? "" : fmt::format(" ({} trained, {} frozen)", trained, all - trained),
                                  name_of(storage_of(recipe.training.precision)), where,
                                  ranks.is_alone() ? "" : fmt::format(" on each of {} ranks", ranks.count())));
  return {
      .reason = trainer.run(), .parameters = trainer.parameters(), .rank = ranks.rank(), .seconds = trainer.seconds()};
}

}  // namespace heed
