// Helpers for the tests of the CUDA backend: on the emulated device, with its threads in every order, or on a GPU,
// whichever library HEED_CUDA names.
#pragma once

#include "backends/backend_test.h"
#include "plugins/heed_cuda/emulated_device.h"

namespace heed::test {

// For what is of the CUDA backend alone.
class CudaTest : public BackendTest {
 protected:
  Backend& cuda() { return backend(); }
};

BackendSetting cuda_setting(DType storage, ThreadOrder order);

}  // namespace heed::test

#define HEED_ON_CUDA(Suite) HEED_IN_EACH_SETTING(Suite, any_call)
