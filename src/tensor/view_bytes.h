// A view's memory as bytes, for files and messages.
#pragma once

#include <cstddef>
#include <span>

#include "base/errors.h"
#include "tensor/tensor.h"

namespace heed {

// The view must be contiguous.
inline std::span<const std::byte> bytes_of(const ConstView& view) {
  ensure(view.contiguous(), "bytes", "{} is not contiguous", view);
  return {static_cast<const std::byte*>(host_address(view)),
          static_cast<size_t>(view.elements() * size_of(view.type()))};
}
inline std::span<std::byte> bytes_of(const View& view) {
  ensure(view.contiguous(), "bytes", "{} is not contiguous", view);
  return {static_cast<std::byte*>(host_address(view)), static_cast<size_t>(view.elements() * size_of(view.type()))};
}

}  // namespace heed
