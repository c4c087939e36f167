#include "kernels/reference/reference_backend.h"

namespace heed {

bool ReferenceBackend::supports(DType storage) const {
  return storage == DType::f64 || storage == DType::f32 || storage == DType::bf16;
}

std::unique_ptr<PackedWeight> ReferenceBackend::pack(View /*matrix*/) { return std::make_unique<PackedWeight>(); }

std::unique_ptr<Backend> make_reference_backend(DType master) { return std::make_unique<ReferenceBackend>(master); }

}  // namespace heed
