#include "kernels/arithmetic.h"

#include <fmt/format.h>

namespace heed {

std::string arithmetic_of(const Backend& backend, DType storage) {
  const auto* const depends = dynamic_cast<const ProcessorArithmetic*>(&backend);
  return depends == nullptr ? std::string(backend.name())
                            : fmt::format("{}, {}", backend.name(), depends->arithmetic(storage));
}

}  // namespace heed
