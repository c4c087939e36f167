#include "train/tasks/task.h"

namespace heed {

int64_t Update::targets() const {
  int64_t sum = 0;
  for (const std::unique_ptr<Shard>& shard : shards) {
    sum += shard->targets();
  }
  return sum;
}

}  // namespace heed
