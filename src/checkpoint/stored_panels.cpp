#include "checkpoint/stored_panels.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "base/excerpt.h"
#include "checkpoint/stored_weight.h"
#include "kernels/integer_panels.h"

namespace heed {
namespace {

const std::string kLayout = "heed_layout";
constexpr std::string_view kPanels = "panels-16";

// A tensor's elements where they are. FormatError unless they begin at a multiple of `alignment`.
template <class T>
std::span<const T> elements_of(const SafeTensors& file, const StoredTensor& tensor, size_t alignment = sizeof(T)) {
  require<FormatError>(reinterpret_cast<uintptr_t>(tensor.bytes.data()) % alignment == 0, file.path().string(),
                       "{} does not begin at a multiple of {} bytes", tensor.text(), alignment);
  return {reinterpret_cast<const T*>(tensor.bytes.data()), tensor.bytes.size() / sizeof(T)};
}

constexpr uint16_t kBf16Exponent = 0x7f80;  // all bits set: infinite, or not a number

Int8Panels int8_panels(const std::shared_ptr<const SafeTensors>& file, const Weight& weight) {
  const StoredTensor &values = file->at(weight.name()), &scales = file->at(scales_of(weight.name()));
  Int8Panels panels{.shape = weight.shape(), .input_scale = read_input_scale(*file, values), .memory = file};
  panels.words = elements_of<uint32_t>(*file, values, kPanelAlignment).data();
  panels.sums = elements_of<int32_t>(*file, file->at(sums_of(weight.name()))).data();
  const std::span<const float> all = elements_of<float>(*file, scales);
  panels.scales = all.data();
  require<FormatError>(std::ranges::all_of(all, [](float x) { return x >= 0.0F && std::isfinite(x); }),
                       file->path().string(), "'{}' holds a scale below 0, or one that is not finite", scales.name);
  return panels;
}

Int4Panels int4_panels(const std::shared_ptr<const SafeTensors>& file, const Weight& weight) {
  const StoredTensor &values = file->at(weight.name()), &scales = file->at(scales_of(weight.name()));
  Int4Panels panels{.shape = weight.shape(), .group = weight.shape().columns() / scales.shape[1], .memory = file};
  panels.words = elements_of<uint32_t>(*file, values, kPanelAlignment).data();
  const std::span<const uint16_t> all = elements_of<uint16_t>(*file, scales);
  panels.scales = all.data();
  // Counted, not searched: that takes whole vectors at a time.
  const auto not_finite =
      std::ranges::count_if(all, [](uint16_t bits) { return (bits & kBf16Exponent) == kBf16Exponent; });
  require<FormatError>(not_finite == 0, file->path().string(), "'{}' holds scales that are not finite", scales.name);
  return panels;
}

}  // namespace

IntegerLayout layout_of(const SafeTensors& file) {
  const auto found = file.metadata().find(kLayout);
  if (found == file.metadata().end()) {
    return IntegerLayout::rows;
  }
  require<FormatError>(found->second == kPanels, file.path().string(),
                       "its whole numbers have the layout '{}', but this program reads '{}': quantize the model again",
                       shown(found->second), kPanels);
  return IntegerLayout::panels;
}

Metadata mark_of_panels() { return {{kLayout, std::string(kPanels)}}; }

std::string sums_of(const std::string& weight) { return weight + ".sums"; }

std::vector<int64_t> int8_panel_shape(const Shape& shape) {
  return {panels_of(shape.rows()), steps_of_int8(shape.columns()), kPanelRows, 4};
}

std::vector<int64_t> int4_panel_shape(const Shape& shape) {
  return {panels_of(shape.rows()), steps_of_int4(shape.columns()), kPanelRows, 4};
}

std::vector<int64_t> int4_panel_scales_shape(const Shape& shape, int64_t group) {
  return {panels_of(shape.rows()), shape.columns() / group, kPanelRows};
}

void hold_panels(const std::shared_ptr<const SafeTensors>& file, Backend& backend, Weight& weight) {
  if (file->at(weight.name()).type == StoredType::i8) {
    weight.hold(backend, int8_panels(file, weight));
  } else {
    weight.hold(backend, int4_panels(file, weight));
  }
}

}  // namespace heed
