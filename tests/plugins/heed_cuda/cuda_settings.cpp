#include "kernels/devices/cuda_plugin.h"
#include "plugins/heed_cuda/cuda_testing.h"

namespace heed::test {

BackendSetting cuda_setting(DType storage, ThreadOrder order) {
  constexpr const char* kOrders[] = {"", "_backward", "_shuffled"};
  return {.name = std::string(name_of(storage)) + kOrders[static_cast<size_t>(order)],
          .device = Device::cuda,
          .storage = storage,
          .make =
              [=](int /*threads*/) {
                set_thread_order(order);
                return make_cuda_backend(0);
              },
          .leave = [] { set_thread_order(ThreadOrder::forward); }};
}

// Each storage type, with threads that run first to last, last to first, and shuffled: a result that depends on the
// order is a race. Sanitizers, which take ten times as long, see each kernel once in each type.
std::vector<BackendSetting> settings_for(KernelsOf /*kernels*/) {
#ifdef HEED_SANITIZED
  return {cuda_setting(DType::f32, ThreadOrder::backward), cuda_setting(DType::bf16, ThreadOrder::shuffled)};
#else
  return {cuda_setting(DType::f32, ThreadOrder::forward), cuda_setting(DType::f32, ThreadOrder::backward),
          cuda_setting(DType::bf16, ThreadOrder::shuffled)};
#endif
}

}  // namespace heed::test
