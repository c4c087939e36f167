#include "heed/merge.h"

#include "checkpoint/adapter.h"

namespace heed {

void merge(const MergeOptions& options) {
  merge_adapter(ModelFolder{options.adapter}, options.model, ModelFolder{options.output});
}

}  // namespace heed
