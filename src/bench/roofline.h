// How fast this machine multiplies at the moment, using oneDNN.
#pragma once

#include <string>

#include "kernels/profiled_backend.h"
#include "tensor/dtype.h"

namespace heed {

struct ProductTime {
  double seconds;
  DType type;  // of the operands, where they were fastest
};

// The fastest of several runs, about 10 ms of each variant: plain operands, or the second one packed in advance; for
// bf16 and int8 operands also the same product in f32, which some processors run faster. First asks oneDNN what it
// supports here: not every processor has a bf16 product.
ProductTime best_product(const ProductShape& shape, DType type, int threads);

// FLOP/s of best_product() for x W^T with many rows, 512, and so the most that any product of such weights can have.
double product_rate(int64_t columns, int64_t depth, DType type, int threads);

// oneDNN's version.
std::string roofline_library();

// Bytes per second, read and written, of a copy much larger than the caches.
double copy_rate(int threads);

// Bytes per second that all threads together read, from memory much larger than the caches.
double read_rate(int threads);

}  // namespace heed
