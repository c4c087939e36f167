// What the bits of a backend's results depend on, beside the build.
#pragma once

#include <string>

#include "kernels/kernels.h"

namespace heed {

// Implemented by backends whose bits depend on the processor.
class ProcessorArithmetic {
 public:
  virtual ~ProcessorArithmetic() = default;

  // The kind of processor, such as "AVX2" or "NEON with bf16 pairs", for weights and activations of this type.
  virtual std::string arithmetic(DType storage) const = 0;
};

// "cpu, AVX2", or only the backend's name.
std::string arithmetic_of(const Backend& backend, DType storage);

}  // namespace heed
