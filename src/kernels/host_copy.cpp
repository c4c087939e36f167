#include "kernels/host_copy.h"

#include <algorithm>

namespace heed {
namespace {

Shape shape_of(const ConstView& view) { return {view.rows(), view.columns()}; }

}  // namespace

Tensor keep_readable(Backend& backend, Shape shape, DType type) {
  return backend.device() == Device::cpu ? Tensor(shape, type) : backend.keep(shape, type);
}

HostCopy::HostCopy(Backend& backend, const ConstView& view) : view_(view) {
  if (view.device() != Device::cpu && !view.empty()) {
    copy_ = Tensor(shape_of(view), view.type());
    backend.copy(view, copy_.view());
    view_ = copy_.view();
  }
}

HostRoom::HostRoom(Backend& backend, const View& of, Holds holds) : backend_(backend), of_(of), view_(of) {
  if (of.device() != Device::cpu && !of.empty()) {
    own_ = Tensor(shape_of(of), of.type());
    view_ = own_.view();
    if (holds == Holds::values) {
      backend.copy(of, view_);
    }
  }
}

void HostRoom::put() {
  if (!own_.empty()) {
    backend_.copy(own_.view(), of_);
  }
}

void put_values(Backend& backend, std::span<const int32_t> values, const View& to) {
  if (to.device() == Device::cpu) {
    std::ranges::copy(values, host<int32_t>(to).data);
    return;
  }
  const auto count = static_cast<int64_t>(values.size());
  backend.copy(ConstView(values.data(), DType::i32, 1, count, count), to);
}

}  // namespace heed
