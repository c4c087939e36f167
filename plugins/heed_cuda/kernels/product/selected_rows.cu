#include "heed_cuda/kernels/product/selected_rows.h"

#include "heed_cuda/device/language.h"
#include "heed_cuda/device/launch.h"

namespace heed::cuda {
namespace {

__global__ void copy_selected_rows_kernel(const uint32_t* from, const int32_t* rows, int64_t count, int64_t words,
                                          uint32_t* to) {
  for (int64_t i = thread_of_grid(); i < count * words; i += threads_of_grid()) {
    to[i] = from[rows[i / words] * words + i % words];
  }
}

}  // namespace

void copy_selected_rows(Context& context, const Tensor& from, std::span<const int32_t> rows, const Tensor& to) {
  const int64_t words = to.view().columns() * size_of(to.type()) / 4, count = std::ssize(rows);
  launch(context.queue, grid_over(count * words), copy_selected_rows_kernel,
         static_cast<const uint32_t*>(device_address(from.view())), context.uploaded<int32_t>(rows), count, words,
         static_cast<uint32_t*>(device_address(to.view())));
}

}  // namespace heed::cuda
