// A backend that times every call of another one.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "kernels/kernels.h"

namespace heed {

// One matrix product of a step: C[rows, columns] = A[rows, depth] B[depth, columns].
enum class ProductKind : uint8_t { forward, input_gradient, weight_gradient };
struct ProductShape {
  ProductKind kind;
  int64_t rows, columns, depth;
  auto operator<=>(const ProductShape&) const = default;  // NOLINT(modernize-use-nullptr): mistakes the default's zero
  double flops() const {
    return 2.0 * static_cast<double>(rows) * static_cast<double>(columns) * static_cast<double>(depth);
  }
};

struct OpProfile {
  int64_t calls = 0;
  double seconds = 0.0;
  double flops = 0.0;  // of products and attention; causal attention counts the visible keys, on average half
  double bytes = 0.0;  // operands read and results written, each once
};

// The calls since it was created or cleared, while it records.
struct Profile {
  std::map<std::string, OpProfile> ops;
  std::map<ProductShape, int64_t> products;  // how often each was computed
  // FLOPs of products by what they read or add to of the weights: where a matrix begins, or its gradient.
  std::map<const void*, double> flops_of_matrices;
  double weight_bytes = 0.0;  // of the weights that products read, each as often as it was read
  bool records = true;

  double flops() const;
};

// Forwards every call to `inner`, which must outlive it, or which it owns.
std::unique_ptr<Backend> make_profiled_backend(Backend& inner, Profile& profile);
std::unique_ptr<Backend> make_profiled_backend(std::unique_ptr<Backend> inner, Profile& profile);

}  // namespace heed
