#include "tensor/tensor.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include "base/system/pages.h"

namespace heed {

Shape::Shape(std::initializer_list<int64_t> extents) {
  ensure(extents.size() <= kMaxRank, "shape", "{} axes, at most {} are supported", extents.size(), kMaxRank);
  for (const int64_t extent : extents) {
    ensure(extent >= 0, "shape", "an extent of {}", extent);
    extents_[static_cast<size_t>(rank_++)] = extent;
  }
}

int64_t Shape::elements() const {
  int64_t product = 1;
  for (int axis = 0; axis < rank_; ++axis) {
    require<ConfigError>(!__builtin_mul_overflow(product, (*this)[axis], &product), "shape",
                         "{} has more elements than can be addressed", *this);
  }
  return product;
}

int64_t Shape::rows() const {
  int64_t product = 1;
  for (int axis = 0; axis + 1 < rank_; ++axis) {
    product *= (*this)[axis];
  }
  return product;
}

std::string Shape::text() const {
  std::string text = "[";
  for (int axis = 0; axis < rank_; ++axis) {
    text += fmt::format("{}{}", axis > 0 ? ", " : "", (*this)[axis]);
  }
  return text + "]";
}

ConstView ConstView::column_range(int64_t first, int64_t count) const {
  ensure(first >= 0 && count >= 0 && first + count <= columns_, "view", "columns {} to {} of {}", first, first + count,
         *this);
  ConstView part = *this;
  part.address_ += first * size_of(type_);
  part.columns_ = count;
  return part;
}

ConstView ConstView::row_range(int64_t first, int64_t count) const {
  ensure(first >= 0 && count >= 0 && first + count <= rows_, "view", "rows {} to {} of {}", first, first + count,
         *this);
  ConstView part = *this;
  part.address_ += first * stride_ * size_of(type_);
  part.rows_ = count;
  return part;
}

ConstView ConstView::as_column() const {
  ensure(rows_ == 1, "view", "{} has more than one row", *this);
  return {address_, type_, columns_, 1, 1, device_};
}

ConstView ConstView::regrouped(int64_t rows, int64_t columns, int64_t stride) const {
  return {address_, type_, rows, columns, stride, device_};
}

std::string ConstView::text() const { return fmt::format("{}[{}, {}]", name_of(type_), rows_, columns_); }

const void* host_address(const ConstView& view) {
  ensure(view.device_ == Device::cpu, "view", "{} is not in host memory", view);
  return view.address_;
}

const void* device_address(const ConstView& view) {
  ensure(view.device_ != Device::cpu, "view", "{} is in host memory", view);
  return view.address_;
}

namespace {

// From this size on, memory comes in pages straight from the system, which are zeros and take no room before they are
// written.
constexpr size_t kMapped = size_t{4} << 20;

std::byte* zeroed_memory(size_t size) {
  if (size >= kMapped) {
    return map_pages(size);
  }
  auto* const address = static_cast<std::byte*>(std::aligned_alloc(64, size));
  if (address != nullptr) {
    std::memset(address, 0, size);
  }
  return address;
}

}  // namespace

void Tensor::Free::operator()(std::byte* address) const {
  if (mapped > 0) {
    unmap_pages(address, mapped);
  } else {
    std::free(address);
  }
}

Tensor::Tensor(Shape shape, DType type) : shape_(shape), type_(type) {
  // A whole number of cache lines, at least one, so that an empty tensor still has an address.
  const size_t size = (static_cast<size_t>(bytes()) / 64 + 1) * 64;
  own_ = {zeroed_memory(size), Free{size >= kMapped ? size : 0}};
  require<MemoryError>(own_ != nullptr, "memory", "the system refused {} bytes for {}{}", size, name_of(type), shape);
  address_ = own_.get();
}

void Tensor::discard(int64_t first, int64_t count) {
  ensure(own_ != nullptr && first >= 0 && count >= 0 && first + count <= elements(), "tensor",
         "elements {} to {} of {} are to be discarded", first, first + count, shape_);
  std::byte* const begin = address_ + first * size_of(type_);
  std::byte* const end = begin + count * size_of(type_);
  const size_t page = page_bytes();
  const size_t to_page = (page - reinterpret_cast<uintptr_t>(begin) % page) % page;
  const auto size = static_cast<size_t>(end - begin);
  if (own_.get_deleter().mapped == 0 || size < to_page + page) {
    std::memset(begin, 0, size);
    return;
  }
  const size_t pages = (size - to_page) / page * page;
  std::memset(begin, 0, to_page);
  if (count < elements()) {
    refuse_large_pages(address_, own_.get_deleter().mapped);  // one would bring the neighbours back
  }
  empty_pages(begin + to_page, pages);
  std::memset(begin + to_page + pages, 0, size - to_page - pages);
}

Tensor::Tensor(Shape shape, DType type, Arena& arena) : shape_(shape), type_(type), device_(arena.device()) {
  block_ = arena.allocate(bytes() == 0 ? 64 : bytes());
  address_ = block_.address();
}

Tensor Tensor::at(void* address, Shape shape, DType type) {
  Tensor tensor;
  tensor.shape_ = shape;
  tensor.type_ = type;
  tensor.address_ = static_cast<std::byte*>(address);
  return tensor;
}

View Tensor::view() const {
  return empty() ? View() : View(address_, type_, shape_.rows(), shape_.columns(), shape_.columns(), device_);
}

}  // namespace heed
