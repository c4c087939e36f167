#include "plan/muon_cost.h"

#include "kernels/counting/counting_backend.h"
#include "models/any_model.h"
#include "nn/weights/trainables.h"

namespace heed {

MuonCost muon_cost(const ModelConfig& config, const MuonRun& run) {
  if (run.optimizer.kind != OptimizerKind::muon) {
    return {};
  }
  Profile profile;
  const std::unique_ptr<Backend> backend = make_counting_backend(profile);
  Weights weights;
  const AnyModel model(Scope(weights), config);
  Trainables trainables(*backend, weights, run.storage);
  Optimizer optimizer(*backend, trainables, run.optimizer);
  optimizer.update(*backend, 1.0);
  const int64_t matrices = profile.ops["muon step"].calls;
  return {.flops = profile.flops(),
          .scratch_bytes = backend->arena().peak_bytes() * (matrices < run.threads ? 1 : run.threads)};
}

}  // namespace heed
