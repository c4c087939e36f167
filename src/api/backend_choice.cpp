#include "api/backend_choice.h"

#include "kernels/cpu/cpu_backend.h"

namespace heed {

void check_threads(int threads) {
  require<ConfigError>(threads >= 0, "threads", "expected 1 or more, or 0 for one per processor, found {}", threads);
}

std::unique_ptr<Backend> make_backend(int threads) {
  check_threads(threads);
  return threads == 0 ? make_cpu_backend() : make_cpu_backend(threads);
}

}  // namespace heed
