#include "heed_cuda/kernels/product/integer_rows.h"

#include "base/rounding.h"
#include "heed_cuda/device/launch.h"
#include "heed_cuda/kernels/product/integer_rows.cuh"

namespace heed::cuda {
namespace {

constexpr int kQuantizeThreads = 128;

// A block for each row.
__global__ void quantize_rows_kernel(RowQuantization task, int8_t* values, float* scales) {
  HEED_SHARED(shared);
  const int64_t row = blockIdx.x;
  const float scale = quantize_row(task, row, values + row * task.padded, reinterpret_cast<float*>(shared));
  if (threadIdx.x == 0) {
    scales[row] = scale;
  }
}

}  // namespace

IntegerRows quantize_rows(Context& context, const Elements& x, int64_t rows, int64_t columns, float input_scale,
                          IntegerOrder order) {
  const int64_t padded = round_up(columns, kInt4Block);
  IntegerRows result{Tensor({rows, padded}, DType::i8, context.arena), Tensor({rows}, DType::f32, context.arena)};
  launch(context.queue, Grid{dim3(static_cast<unsigned>(rows)), dim3(kQuantizeThreads), kQuantizeThreads / kWarp * 4},
         quantize_rows_kernel, RowQuantization{x, columns, padded, input_scale, order},
         static_cast<int8_t*>(device_address(result.values.view())),
         static_cast<float*>(device_address(result.scales.view())));
  return result;
}

}  // namespace heed::cuda
