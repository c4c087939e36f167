#include "kernels/reference/reference_backend.h"

#include "kernels/reference/values.h"

namespace heed {

bool ReferenceBackend::supports(DType storage) const {
  return storage == DType::f64 || storage == DType::f32 || storage == DType::bf16;
}

// In the inputs' type, which holds the values of the weights' type.
std::unique_ptr<PackedWeight> ReferenceBackend::pack(const Shape& shape, ProductTypes types, const RowSource& rows) {
  auto packed = std::make_unique<reference::PackedMatrix>(shape, types.inputs);
  Tensor narrow(shape, types.weights);
  copy(rows(0, shape.rows()), narrow.view());
  copy(narrow.view(), packed->matrix.view());
  return packed;
}

std::unique_ptr<PackedWeight> ReferenceBackend::pack(const Int8Matrix& matrix) {
  return std::make_unique<reference::PackedIntegers>(matrix);
}

std::unique_ptr<PackedWeight> ReferenceBackend::pack(const Int8GroupMatrix& matrix, DType /*inputs*/) {
  return std::make_unique<reference::PackedIntegers>(matrix);
}

std::unique_ptr<PackedWeight> ReferenceBackend::pack(const Int4Matrix& matrix) {
  return std::make_unique<reference::PackedIntegers>(matrix);
}

std::unique_ptr<PackedWeight> ReferenceBackend::adopt(const Int8Panels& panels) {
  return std::make_unique<reference::PackedIntegers>(panels);
}

std::unique_ptr<PackedWeight> ReferenceBackend::adopt(const Int8GroupPanels& panels, DType /*inputs*/) {
  return std::make_unique<reference::PackedIntegers>(panels);
}

std::unique_ptr<PackedWeight> ReferenceBackend::adopt(const Int4Panels& panels) {
  return std::make_unique<reference::PackedIntegers>(panels);
}

std::unique_ptr<PackedWeight> ReferenceBackend::adopt(const HalfPanels& panels, DType /*inputs*/) {
  return std::make_unique<reference::PackedMatrix>(panels);
}

std::unique_ptr<PackedWeight> ReferenceBackend::select_packed_rows(const PackedWeight& matrix,
                                                                   std::span<const int32_t> rows) {
  if (const auto* const integers = dynamic_cast<const reference::PackedIntegers*>(&matrix)) {
    return std::make_unique<reference::PackedIntegers>(*integers, rows);
  }
  return std::make_unique<reference::PackedMatrix>(static_cast<const reference::PackedMatrix&>(matrix), rows);
}

std::unique_ptr<Backend> make_reference_backend(DType master) { return std::make_unique<ReferenceBackend>(master); }

}  // namespace heed
