#include "api/inside/masters.h"

#include <algorithm>

#include "base/system/memory.h"
#include "checkpoint/adapter.h"
#include "checkpoint/stored_model.h"
#include "checkpoint/weights.h"

namespace heed {

void require_memory_for(const Weights& weights, int64_t copies, const std::filesystem::path& path) {
  constexpr int64_t kBytes = 4;  // of a number in f32
  const int64_t needed = kBytes * copies * weights.elements(), there = usable_memory();
  require<ConfigError>(needed <= there, path.string(), "takes {:.1f} GB of memory, but only {:.1f} can be used here",
                       static_cast<double>(needed) / 1e9, static_cast<double>(there) / 1e9);
}

void load_masters_of(const ModelFolder& folder, const ModelConfig& config, Backend& backend, Trainables& trainables) {
  if (!holds_adapter(folder)) {
    load_masters(*open_weights(folder, config, BlocksAs::floats), backend, trainables);
    return;
  }
  const AdaptedWeights adapted(folder, config);
  adapted.require_complete(trainables.weights());
  for (const Weight& weight : trainables.weights().all()) {
    std::ranges::copy(adapted.values(weight), static_cast<float*>(host_address(weight.trainable().master())));
  }
  trainables.refresh(backend);
}

}  // namespace heed
