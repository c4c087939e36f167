#include "heed/train.h"

#include "base/files.h"
#include "base/threads.h"
#include "kernels/cpu/cpu_backend.h"
#include "train/run_folder.h"
#include "train/trainer.h"

namespace heed {
namespace {

// A run that is resumed decays what it did, unless the recipe says otherwise.
DecayedWeights decayed_unless_named(const TrainOptions& options) {
  const ModelFolder folder{options.output};
  const bool goes_on = options.start == TrainStart::resume && std::filesystem::exists(folder.recipe());
  return goes_on ? recipe_of_run(folder).optimizer.decay : DecayedWeights::matrices;
}

}  // namespace

TrainResult train(const TrainOptions& options, TrainListener& listener) {
  const Recipe recipe =
      parse_recipe(read_file(options.recipe), options.recipe, options.overrides, decayed_unless_named(options));
  const auto backend = make_cpu_backend(thread_count(options.threads));
  Trainer trainer(*backend, recipe, ModelFolder{options.output}, options.start, listener);
  listener.on_message(fmt::format("{} parameters, {}, {} threads", trainer.parameters(),
                                  name_of(storage_of(recipe.training.precision)), backend->threads()));
  return {.reason = trainer.run(), .parameters = trainer.parameters()};
}

}  // namespace heed
