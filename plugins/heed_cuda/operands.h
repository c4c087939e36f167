// The operands of one call, where kernels can read and write them. What is in the device's memory already is used where
// it is; what is the host's is brought there, and results are brought back: slow, and right.
#pragma once

#include <vector>

#include "heed_cuda/context.h"
#include "heed_cuda/device/language.h"

namespace heed::cuda {

class Operands {
 public:
  explicit Operands(Context& context) : context_(context) {}

  // A missing operand gives an empty one. The view's type must be T.
  template <class T>
  Matrix<const T> in(const ConstView& view) {
    return matrix<const T>(on_device(view, Contents::needed), view);
  }
  template <class T>
  Matrix<T> out(const View& view) {
    return matrix<T>(result(view, Contents::overwritten), view);
  }
  template <class T>
  Matrix<T> in_out(const View& view) {
    return matrix<T>(result(view, Contents::needed), view);
  }

  // After the last kernel: brings results back to the host, if there are any, and waits for them.
  void finish();

 private:
  enum class Contents : uint8_t { needed, overwritten };
  struct Place {
    void* address;
    int64_t stride;
  };
  struct Result {
    Tensor copy;
    View host;
  };

  Place on_device(const ConstView& view, Contents contents);
  Place result(const View& view, Contents contents);

  template <class T>
  Matrix<T> matrix(const Place& place, const ConstView& view) {
    ensure(view.empty() || view.type() == dtype_of<std::remove_const_t<T>>, "cuda", "{} is read as {}", view,
           name_of(dtype_of<std::remove_const_t<T>>));
    return {static_cast<T*>(place.address), view.rows(), view.columns(), place.stride};
  }

  Context& context_;
  std::vector<Tensor> copies_;
  std::vector<Result> results_;
};

// Calls body with a value of the storage type: body(float{}) or body(bf16{}).
template <class Body>
void for_storage(DType type, Body&& body) {
  if (type == DType::bf16) {
    body(bf16{});
  } else {
    ensure(type == DType::f32, "cuda", "storage in {}", name_of(type));
    body(float{});
  }
}

// The same with a value of any element type.
template <class Body>
void for_any_type(DType type, Body&& body) {
  switch (type) {
    case DType::f64:
      return body(double{});
    case DType::f32:
      return body(float{});
    case DType::bf16:
      return body(bf16{});
    case DType::i32:
      return body(int32_t{});
    case DType::i8:
      return body(int8_t{});
  }
}

}  // namespace heed::cuda
