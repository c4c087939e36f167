// What tests set on the emulated device, through the library's exported symbols.
#include <cstdlib>

#include "heed_cuda/device/emulated_faults.h"
#include "heed_cuda/device/emulation.h"

namespace {

// For tests of the program: HEED_CUDA_FAULT=N in the environment.
[[maybe_unused]] const bool kSetByEnvironment = [] {
  const char* const calls = std::getenv("HEED_CUDA_FAULT");
  if (calls != nullptr) {
    heed::cuda::emulation::fail_after(std::atoll(calls));
  }
  return calls != nullptr;
}();

}  // namespace

extern "C" __attribute__((visibility("default"))) void heed_cuda_emulation_order(int order) {
  heed::cuda::emulation::set_order(static_cast<heed::cuda::emulation::Order>(order));
}

extern "C" __attribute__((visibility("default"))) void heed_cuda_emulation_fail_after(int64_t calls) {
  heed::cuda::emulation::fail_after(calls);
}
