#include "heed_cuda/kernels/elementwise.h"

#include "heed_cuda/device/language.h"
#include "heed_cuda/device/launch.h"
#include "heed_cuda/operands.h"

namespace heed::cuda {
namespace {

template <class T>
__global__ void fill_kernel(Matrix<T> x, double value) {
  for (int64_t i = thread_of_grid(); i < x.rows * x.columns; i += threads_of_grid()) {
    x(i / x.columns, i % x.columns) = static_cast<T>(static_cast<float>(value));
  }
}

}  // namespace

void fill(Context& context, View x, double value) {
  Operands operands(context);
  for_storage(x.type(), [&]<class T>(T) {
    launch(context.queue, grid_over(x.elements()), fill_kernel<T>, operands.out<T>(x), value);
  });
  operands.finish();
}

}  // namespace heed::cuda
