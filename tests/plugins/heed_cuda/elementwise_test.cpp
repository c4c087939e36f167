#include "plugins/heed_cuda/cuda_testing.h"

namespace heed::test {
namespace {

class CudaElementwise : public CudaTest {};
HEED_ON_CUDA(CudaElementwise);

TEST_P(CudaElementwise, FillsEveryElement) {
  for (const int64_t columns : {1, 31, 257}) {
    Guarded x(storage(), 5, columns);
    cuda().fill(x.view(), 1.5);
    Guarded expected(DType::f64, 5, columns);
    reference().fill(expected.view(), 1.5);
    EXPECT_TRUE(close(x, expected, stored()));
  }
}

}  // namespace
}  // namespace heed::test
