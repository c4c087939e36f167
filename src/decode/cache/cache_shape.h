// What a cache of keys and values holds, and how much of it.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/calls/linear_attention.h"

namespace heed {

struct CacheShape {
  int64_t layers, width;    // of keys
  int64_t value_width = 0;  // of values; 0: as keys
  int64_t window = 0;       // the latest tokens that any layer needs; 0: all tokens are cached
  int64_t max_tokens = 0;   // the budget: of all sequences together, in whole pages; 0: as many as memory holds
  int64_t begin_with = 0;   // tokens that there is room for at first; 0: some
  int64_t page_tokens = 16;
  int64_t roll_back = 0;  // tokens that roll_back() can always drop, also where pages are freed
  // The layers of linear attention, which keep sums (see LinearStates). The budget does not count these: their size
  // does not depend on a sequence's length.
  std::vector<int64_t> linear_layers = {};
  int64_t heads = 1;  // of keys: each has sums of its own, and in int8 scales of its own
  LinearFeature linear_feature = LinearFeature::elu;
  // Heads of keys of each layer where layers differ: `width`, `value_width` and `heads` are then those of the widest,
  // and other layers use the first columns of as much room.
  std::vector<int64_t> heads_of_layers = {};

  int64_t width_of_values() const { return value_width > 0 ? value_width : width; }
  int64_t heads_of(int64_t layer) const {
    return heads_of_layers.empty() ? heads : heads_of_layers[static_cast<size_t>(layer)];
  }
  int64_t width_of(int64_t layer) const { return width / heads * heads_of(layer); }
  int64_t value_width_of(int64_t layer) const { return width_of_values() / heads * heads_of(layer); }
};

}  // namespace heed
