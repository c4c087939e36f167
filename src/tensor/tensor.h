// Shape, ConstView and View (borrow, to read and to write) and Tensor (owns).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <type_traits>

#include "base/errors.h"
#include "tensor/arena.h"
#include "tensor/device.h"
#include "tensor/dtype.h"

namespace heed {

// Up to four extents, outermost first.
class Shape {
 public:
  static constexpr int kMaxRank = 4;

  Shape() = default;
  Shape(std::initializer_list<int64_t> extents);

  int rank() const { return rank_; }
  int64_t operator[](int axis) const { return extents_[static_cast<size_t>(axis)]; }
  int64_t elements() const;
  int64_t columns() const { return rank_ == 0 ? 1 : extents_[static_cast<size_t>(rank_ - 1)]; }
  int64_t rows() const;  // all but the last axis; a vector is one row
  bool operator==(const Shape&) const = default;
  std::string text() const;  // "[2048, 512]"

 private:
  std::array<int64_t, kMaxRank> extents_{};
  int rank_ = 0;
};

template <class T>
struct HostView;

// A matrix whose rows are `stride` elements apart, borrowed from whoever owns the memory, to be read. A vector is one
// row; an empty view stands for a missing operand. The address is private: host() returns it, for host memory.
class ConstView {
 public:
  ConstView() = default;
  ConstView(const void* address, DType type, int64_t rows, int64_t columns, int64_t stride, Device device = Device::cpu)
      : address_(static_cast<const std::byte*>(address)),
        rows_(rows),
        columns_(columns),
        stride_(stride),
        type_(type),
        device_(device) {}

  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  int64_t stride() const { return stride_; }
  DType type() const { return type_; }
  Device device() const { return device_; }
  bool empty() const { return address_ == nullptr; }
  bool contiguous() const { return stride_ == columns_ || rows_ <= 1; }
  int64_t elements() const { return rows_ * columns_; }

  ConstView column_range(int64_t first, int64_t count) const;
  ConstView row_range(int64_t first, int64_t count) const;
  ConstView as_column() const;  // of one row: its elements as rows of one
  // The same memory divided into other rows, from the first element on; the caller knows that they lie within it.
  ConstView regrouped(int64_t rows, int64_t columns, int64_t stride) const;
  std::string text() const;  // "bf16[2048, 512]"

 private:
  template <class T>
  friend HostView<const T> host(const ConstView& view);
  friend const void* host_address(const ConstView& view);
  friend const void* device_address(const ConstView& view);

  const std::byte* address_ = nullptr;
  int64_t rows_ = 0, columns_ = 0, stride_ = 0;
  DType type_ = DType::f32;
  Device device_ = Device::cpu;
};

// The same, of memory that may also be written: through a constant View too, since const makes only the view constant.
class View : public ConstView {
 public:
  View() = default;
  View(void* address, DType type, int64_t rows, int64_t columns, int64_t stride, Device device = Device::cpu)
      : ConstView(address, type, rows, columns, stride, device) {}

  View column_range(int64_t first, int64_t count) const { return View(ConstView::column_range(first, count)); }
  View row_range(int64_t first, int64_t count) const { return View(ConstView::row_range(first, count)); }
  View as_column() const { return View(ConstView::as_column()); }
  View regrouped(int64_t rows, int64_t columns, int64_t stride) const {
    return View(ConstView::regrouped(rows, columns, stride));
  }

 private:
  explicit View(const ConstView& part) : ConstView(part) {}  // a part of a view of this kind
};

template <class T>
struct HostView {
  T* data;
  int64_t rows, columns, stride;

  T* row(int64_t r) const { return data + r * stride; }
  T& operator()(int64_t r, int64_t c) const { return data[r * stride + c]; }
  operator HostView<const T>() const requires(!std::is_const_v<T>) { return {data, rows, columns, stride}; }
};

}  // namespace heed

// Shapes and views in messages: formatted only when the message is.
template <>
struct fmt::formatter<heed::Shape> : fmt::formatter<std::string> {
  template <class Context>
  auto format(const heed::Shape& shape, Context& context) const {
    return fmt::formatter<std::string>::format(shape.text(), context);
  }
};
template <>
struct fmt::formatter<heed::ConstView> : fmt::formatter<std::string> {
  template <class Context>
  auto format(const heed::ConstView& view, Context& context) const {
    return fmt::formatter<std::string>::format(view.text(), context);
  }
};
template <>
struct fmt::formatter<heed::View> : fmt::formatter<heed::ConstView> {};

namespace heed {

// The one way to the elements. Our own invariant: host memory, the right type.
template <class T>
HostView<const T> host(const ConstView& view) {
  ensure(view.device_ == Device::cpu && view.type_ == dtype_of<T>, "view", "{} read on the host as {}", view,
         name_of(dtype_of<T>));
  return {reinterpret_cast<const T*>(view.address_), view.rows_, view.columns_, view.stride_};
}
template <class T>
HostView<T> host(const View& view) {
  const HostView<const T> read = host<T>(static_cast<const ConstView&>(view));
  return {const_cast<T*>(read.data), read.rows, read.columns, read.stride};
}

// Where the elements begin, for code that branches on the type itself.
const void* host_address(const ConstView& view);
inline void* host_address(const View& view) {
  return const_cast<void*>(host_address(static_cast<const ConstView&>(view)));
}

// The same in the memory of a device, for its backend alone.
const void* device_address(const ConstView& view);
inline void* device_address(const View& view) {
  return const_cast<void*>(device_address(static_cast<const ConstView&>(view)));
}

// Owns an arena block or memory of its own, shaped.
class Tensor {
 public:
  Tensor() = default;
  Tensor(Shape shape, DType type);                // zeros, in the host's memory
  Tensor(Shape shape, DType type, Arena& arena);  // undefined contents, in the arena's memory
  // Somebody else's memory, or an address alone, behind which there is none.
  static Tensor at(void* address, Shape shape, DType type);

  const Shape& shape() const { return shape_; }
  DType type() const { return type_; }
  int64_t elements() const { return shape_.elements(); }
  int64_t bytes() const { return elements() * size_of(type_); }
  bool empty() const { return address_ == nullptr; }
  Device device() const { return device_; }

  View view() const;  // rows x columns of the shape

  // Requires memory of its own. These elements become zeros, and whole pages of them go back to the system.
  // Elements of a large tensor that were never written take no memory either.
  void discard(int64_t first, int64_t count);

  template <class T>
  T* data() {
    return host<T>(view()).data;
  }
  template <class T>
  const T* data() const {
    return host<T>(view()).data;
  }

 private:
  struct Free {
    size_t mapped;  // bytes; 0: from the heap
    void operator()(std::byte* address) const;
  };

  Shape shape_;
  DType type_ = DType::f32;
  Device device_ = Device::cpu;
  std::byte* address_ = nullptr;
  Arena::Block block_;
  std::unique_ptr<std::byte, Free> own_;
};

}  // namespace heed
