// Values between the host's memory and a backend's. On a backend of the host nothing is copied that is there already.
#pragma once

#include <span>

#include "kernels/kernels.h"

namespace heed {

// Like Backend::keep(), but HostCopy can read it even on a backend that only counts and has no memory behind what it
// keeps.
Tensor keep_readable(Backend& backend, Shape shape, DType type);

// A view's elements in the host's memory, to be read: the view itself where it is there, else a copy, for which all that
// was enqueued is waited for.
class HostCopy {
 public:
  HostCopy(Backend& backend, const ConstView& view);

  const ConstView& view() const { return view_; }

 private:
  Tensor copy_;
  ConstView view_;
};

// Room in the host's memory for what a view is to hold: the view itself where it is there, else memory of its own, whose
// contents put() brings to the view. It holds the view's values at first if they are asked for.
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

// to: contiguous, as many elements as there are values.
void put_values(Backend& backend, std::span<const int32_t> values, const View& to);

}  // namespace heed
