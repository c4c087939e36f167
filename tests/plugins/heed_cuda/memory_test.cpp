// Copies between types, and operands in the device's memory.
#include "plugins/heed_cuda/cuda_testing.h"

namespace heed::test {
namespace {

constexpr DType kAllTypes[] = {DType::f64, DType::f32, DType::bf16, DType::i32, DType::i8};

class CudaMemory : public CudaTest {
 protected:
  Tensor on_device(const Guarded& from) {
    Tensor to = cuda().keep({from.rows(), from.columns()}, from.type());
    cuda().copy(from.view(), to.view());
    return to;
  }
};
HEED_ON_CUDA(CudaMemory);

TEST_P(CudaMemory, CopyConvertsBetweenAllTypes) {
  for (const DType from : kAllTypes) {
    for (const DType to : kAllTypes) {
      SCOPED_TRACE(fmt::format("{} to {}", name_of(from), name_of(to)));
      const Guarded x(from, 3, 5), y(to, 3, 5);
      for (int64_t i = 0; i < 15; ++i) {
        x.set(i / 5, i % 5, static_cast<double>(i - 7));
      }
      cuda().copy(x.view(), y.view());
      EXPECT_TRUE(close(y, converted(x, DType::f64), {}));
    }
  }
}

TEST_P(CudaMemory, PartsOfAMatrixAreFilled) {
  const Guarded x(storage(), 3, 5);
  const Tensor device = cuda().keep({3, 5}, storage());
  cuda().fill(device.view(), 1.5);
  cuda().fill(device.view().column_range(1, 3), 0.0);
  cuda().fill(device.view().row_range(2, 1), 0.0);
  cuda().copy(device.view(), x.view());
  EXPECT_EQ(x.get(1, 0), 1.5);
  EXPECT_EQ(x.get(1, 1), 0.0);
  EXPECT_EQ(x.get(1, 4), 1.5);
  EXPECT_EQ(x.get(2, 4), 0.0);
}

TEST_P(CudaMemory, CopiesGoToTheDeviceWithinItAndBack) {
  for (const DType type : kAllTypes) {
    const Guarded x(type, 5, 12), y(type, 5, 12), wide(DType::f64, 5, 12);
    for (int64_t i = 0; i < 60; ++i) {
      x.set(i / 12, i % 12, static_cast<double>(i - 20));
    }
    const Tensor first = on_device(x), second = cuda().keep({7, 20}, type);
    const View part = second.view().row_range(1, 5).column_range(3, 12);
    cuda().copy(first.view(), part);
    cuda().copy(part, y.view());
    EXPECT_TRUE(same_bits(y, x));
    EXPECT_TRUE(y.untouched());
    const Guarded all(type, 7, 20);
    cuda().copy(second.view(), all.view());
    EXPECT_EQ(all.get(1, 2), 0.0);
    EXPECT_EQ(all.get(1, 15), 0.0);
    cuda().copy(part, wide.view());  // of another type: converted on its way
    EXPECT_TRUE(close(wide, converted(x, DType::f64), {}));
  }
}

}  // namespace
}  // namespace heed::test
