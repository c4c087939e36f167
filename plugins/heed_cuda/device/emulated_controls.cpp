// What tests set on the emulated device, through the library's exported symbols.
#include "heed_cuda/device/emulated_faults.h"
#include "heed_cuda/device/emulation.h"

extern "C" __attribute__((visibility("default"))) void heed_cuda_emulation_order(int order) {
  heed::cuda::emulation::set_order(static_cast<heed::cuda::emulation::Order>(order));
}

extern "C" __attribute__((visibility("default"))) void heed_cuda_emulation_fail_after(int64_t calls) {
  heed::cuda::emulation::fail_after(calls);
}
