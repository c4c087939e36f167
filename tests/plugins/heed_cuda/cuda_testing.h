// Helpers for the tests of the CUDA backend: on the emulated device, with its threads in every order, or on a GPU, whichever
// library HEED_CUDA names.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "kernels/backend_testing.h"
#include "kernels/devices/cuda_plugin.h"
#include "kernels/op_cases.h"
#include "kernels/reference/reference_backend.h"
#include "plugins/heed_cuda/emulated_device.h"

namespace heed::test {

struct CudaSetting {
  DType storage;
  ThreadOrder order;
};

class CudaTest : public ::testing::TestWithParam<CudaSetting> {
 protected:
  CudaTest() {
    set_thread_order(GetParam().order);
    backend_ = make_cuda_backend(0);
  }
  ~CudaTest() override { set_thread_order(ThreadOrder::forward); }

  DType storage() const { return GetParam().storage; }
  Types types() const { return {storage(), DType::f32}; }
  Tolerance stored() const { return tolerance_of(storage()); }
  Backend& cuda() { return *backend_; }
  Backend& reference() { return reference_; }

 private:
  std::unique_ptr<Backend> backend_;
  ReferenceBackend reference_;
};

inline std::string name_of_cuda_setting(const ::testing::TestParamInfo<CudaSetting>& info) {
  constexpr const char* kOrders[] = {"", "_backward", "_shuffled"};
  return std::string(name_of(info.param.storage)) + kOrders[static_cast<size_t>(info.param.order)];
}

inline void PrintTo(const CudaSetting& setting, std::ostream* out) {
  *out << name_of_cuda_setting(::testing::TestParamInfo<CudaSetting>(setting, 0));
}

}  // namespace heed::test

namespace heed::test {

// Each storage type, with threads that run first to last, last to first, and shuffled: a result that depends on the order
// is a race. Sanitizers, which take ten times as long, see each kernel once in each type.
inline std::vector<CudaSetting> cuda_settings() {
#ifdef HEED_SANITIZED
  return {{DType::f32, ThreadOrder::backward}, {DType::bf16, ThreadOrder::shuffled}};
#else
  return {
      {DType::f32, ThreadOrder::forward}, {DType::f32, ThreadOrder::backward}, {DType::bf16, ThreadOrder::shuffled}};
#endif
}

}  // namespace heed::test

#define HEED_ON_CUDA(Suite) \
  INSTANTIATE_TEST_SUITE_P(Settings, Suite, ::testing::ValuesIn(cuda_settings()), name_of_cuda_setting)
