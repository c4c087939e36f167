// Settings that layers have in common, or in which they differ.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <utility>
#include <vector>

#include "base/errors.h"

namespace heed {

// One value for all layers of a stack, or a list with one for each layer, which repeats if there are more layers.
template <class Value>
class PerLayer {
 public:
  PerLayer(Value value)
      : values_{std::move(value)} {}  // NOLINT(google-explicit-constructor): a value is the usual case
  PerLayer(std::initializer_list<Value> values) : PerLayer(std::vector<Value>(values)) {}
  explicit PerLayer(std::vector<Value> values) : values_(std::move(values)) {
    ensure(!values_.empty(), "per layer", "no value for any layer");
  }

  const Value& of(int64_t layer) const { return values_[static_cast<size_t>(layer) % values_.size()]; }
  const std::vector<Value>& values() const { return values_; }  // as written, without repetition
  bool is_uniform() const { return std::ranges::count(values_, values_.front()) == std::ssize(values_); }
  bool operator==(const PerLayer&) const = default;

  template <class Change>
  PerLayer with_each(Change change) const {
    PerLayer changed = *this;
    std::ranges::transform(changed.values_, changed.values_.begin(), change);
    return changed;
  }

 private:
  std::vector<Value> values_;
};

// For people: "2048", "1024 / 2048", or of more than three values "512 to 2048".
template <class Value>
std::string describe(const PerLayer<Value>& setting) {
  constexpr size_t kFew = 3;
  const std::vector<Value>& values = setting.values();
  if (setting.is_uniform()) {
    return fmt::format("{}", values.front());
  }
  return values.size() <= kFew
             ? fmt::format("{}", fmt::join(values, " / "))
             : fmt::format("{} to {}", *std::ranges::min_element(values), *std::ranges::max_element(values));
}

}  // namespace heed
