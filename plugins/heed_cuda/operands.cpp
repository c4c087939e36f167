#include "heed_cuda/operands.h"

namespace heed::cuda {
namespace {

Block2d block_of(const ConstView& view, int64_t from_stride, int64_t to_stride) {
  const int64_t size = size_of(view.type());
  return {view.rows(), view.columns() * size, from_stride * size, to_stride * size};
}

Tensor copy_of(const ConstView& view, Arena& arena) { return {{view.rows(), view.columns()}, view.type(), arena}; }

}  // namespace

Operands::Place Operands::on_device(const ConstView& view, Contents contents) {
  if (view.empty()) {
    return {nullptr, 0};
  }
  if (view.device() != Device::cpu) {
    return {const_cast<void*>(device_address(view)), view.stride()};
  }
  Tensor copy = copy_of(view, context_.arena);
  void* const address = device_address(copy.view());
  if (contents == Contents::needed) {
    context_.queue.upload(host_address(view), address, block_of(view, view.stride(), view.columns()));
  }
  copies_.push_back(std::move(copy));
  return {address, view.columns()};
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
    context_.queue.download(device_address(result.copy.view()), host_address(result.host),
                            block_of(result.host, result.host.columns(), result.host.stride()));
  }
}

}  // namespace heed::cuda
