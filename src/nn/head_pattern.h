// Which keys the heads of a layer's self-attention see, as a recipe writes it.
#pragma once

#include <string>
#include <vector>

#include "ops/attention/attention.h"

namespace heed {

// "full", "local:128", "strided:16" or, for a layer as a whole, "linear". Whether a query also sees what comes after it
// is the stack's business: a decoder's does not.
struct HeadPattern {
  enum class Kind : uint8_t { full, local, strided, linear };

  Kind kind = Kind::full;
  int64_t size = 0;  // local: the window; strided: the stride
  bool operator==(const HeadPattern&) const = default;

  Visibility visibility(Visibility::Reach reach) const;
};

// A layer's heads in as many equal parts, in order: "local:128+strided:16".
using LayerPattern = std::vector<HeadPattern>;

VisibilityByHead visibility_of(const LayerPattern& pattern, Visibility::Reach reach);
inline bool is_linear(const LayerPattern& pattern) { return pattern.front().kind == HeadPattern::Kind::linear; }
std::string to_text(const LayerPattern& pattern);
// ConfigError, about `where`, for what is not a pattern.
LayerPattern layer_pattern(const std::string& where, const std::string& text);

}  // namespace heed
