// Moves values between the host's memory and a backend's. What a backend has in the host's memory is not copied.
#pragma once

#include <span>

#include "kernels/kernels.h"

namespace heed {

// Zeros that outlive a step. They have memory of their own even on the backend that only counts what a step needs.
Tensor keep_readable(Backend& backend, Shape shape, DType type);

// A view's elements in the host's memory, to be read: the view itself where it is there, else a copy, which waits until
// all that was enqueued is computed.
class HostCopy {
 public:
  HostCopy(Backend& backend, const ConstView& view);

  const ConstView& view() const { return view_; }

 private:
  Tensor copy_;
  ConstView view_;
};

// Room in the host's memory for what a view is to hold: the view itself where it is there, else separate memory, which
// put() copies to the view. With Holds::values it holds the view's values at first.
class HostRoom {
 public:
  enum class Holds : uint8_t { nothing, values };
  HostRoom(Backend& backend, const View& of, Holds holds = Holds::nothing);

  const View& view() const { return view_; }
  void put();

 private:
  Backend& backend_;
  View of_, view_;
  Tensor own_;
};

// Copies the values to `to`, which is contiguous and has as many elements.
void put_values(Backend& backend, std::span<const int32_t> values, const View& to);

}  // namespace heed
