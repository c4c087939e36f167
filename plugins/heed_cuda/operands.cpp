#include "heed_cuda/operands.h"

#include <algorithm>
#include <cstring>

namespace heed::cuda {
namespace {

constexpr int64_t kAlignment = 16;   // of what kernels move at a time
constexpr std::byte kPadding{0xff};  // NaN

// How a view's rows lie in a copy of its own: as in the original, so that a kernel does the same with both.
struct CopyLayout {
  int64_t offset, row_bytes, stride_bytes, rows;

  explicit CopyLayout(const ConstView& view)
      : offset(static_cast<int64_t>(reinterpret_cast<uintptr_t>(host_address(view)) % kAlignment)),
        row_bytes(view.columns() * size_of(view.type())),
        stride_bytes(view.contiguous() ? row_bytes : view.stride() * size_of(view.type())),
        rows(view.rows()) {}

  bool padded() const { return stride_bytes != row_bytes; }
  int64_t bytes() const { return std::max<int64_t>(1, rows * stride_bytes); }
};

}  // namespace

Operands::Place Operands::on_device(const ConstView& view, Contents contents) {
  if (view.empty()) {
    return {nullptr, 0};
  }
  if (view.device() != Device::cpu) {
    return {const_cast<void*>(device_address(view)), view.stride()};
  }
  const CopyLayout layout(view);
  Tensor copy({layout.offset + layout.bytes()}, DType::i8, context_.arena);
  auto* const address = static_cast<std::byte*>(device_address(copy.view())) + layout.offset;
  if (layout.padded()) {
    context_.queue.fill_bytes(address, static_cast<int>(kPadding), layout.bytes());
  }
  if (contents == Contents::needed) {
    context_.queue.upload(host_address(view), address,
                          {layout.rows, layout.row_bytes, view.stride() * size_of(view.type()), layout.stride_bytes});
  }
  copies_.push_back(std::move(copy));
  return {address, layout.stride_bytes / size_of(view.type())};
}

Operands::Place Operands::result(const View& view, Contents contents) {
  const Place place = on_device(view, contents);
  if (!view.empty() && view.device() == Device::cpu) {
    results_.push_back({std::move(copies_.back()), view});
    copies_.pop_back();
  }
  return place;
}

void Operands::finish() {
  for (const Result& result : results_) {
    const CopyLayout layout(result.host);
    const auto* const from = static_cast<const std::byte*>(device_address(result.copy.view())) + layout.offset;
    auto* const to = static_cast<std::byte*>(host_address(result.host));
    const int64_t to_stride = result.host.stride() * size_of(result.host.type());
    if (!layout.padded()) {
      context_.queue.download(from, to, {layout.rows, layout.row_bytes, layout.stride_bytes, to_stride});
      continue;
    }
    std::vector<std::byte> all(static_cast<size_t>(layout.bytes()));
    context_.queue.download(from, all.data(), {1, layout.bytes(), layout.bytes(), layout.bytes()});
    for (int64_t r = 0; r < layout.rows; ++r) {
      const std::byte* const row = all.data() + r * layout.stride_bytes;
      std::memcpy(to + r * to_stride, row, static_cast<size_t>(layout.row_bytes));
      ensure(std::all_of(row + layout.row_bytes, row + layout.stride_bytes, [](auto byte) { return byte == kPadding; }),
             "cuda", "a kernel wrote between the rows of {}", result.host);
    }
  }
}

}  // namespace heed::cuda
