#include "heed/train.h"

#include "base/files.h"
#include "base/plural.h"
#include "base/threads.h"
#include "kernels/cpu/cpu_backend.h"
#include "train/trainer.h"

namespace heed {
TrainResult train(const TrainOptions& options, TrainListener& listener) {
  Recipe recipe = parse_recipe(read_file(options.recipe), options.recipe, options.overrides);
  if (!options.prepared.empty()) {
    recipe.prepared = options.prepared;
  }
  const auto backend = make_cpu_backend(thread_count(options.threads));
  Trainer trainer(*backend, recipe, ModelFolder{options.output}, options.start, listener);
  const int64_t all = trainer.parameters(), trained = trainer.trained_parameters();
  listener.on_message(fmt::format("{} parameters{}, {}, {} thread{}", all,
                                  trained == all ? "" : fmt::format(" ({} trained, {} frozen)", trained, all - trained),
                                  name_of(storage_of(recipe.training.precision)), backend->threads(),
                                  plural(backend->threads())));
  return {.reason = trainer.run(), .parameters = trainer.parameters()};
}

}  // namespace heed
