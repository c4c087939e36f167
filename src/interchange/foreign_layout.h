// Where another program's tensor has heed's rows.
#pragma once

#include "interchange/naming.h"
#include "models/config.h"

namespace heed {

struct ForeignLayout {
  int64_t head_width, rotary_width, heads;

  explicit ForeignLayout(const ModelConfig& config)
      : head_width(config.width_of_head()),
        rotary_width(config.rotary_width > 0 ? config.rotary_width : config.width_of_head()),
        heads(config.heads) {}

  // Which of the tensor's `rows` rows is heed's row `row`. rotated_pairs: rows c and c + rotary_width / 2 of a head are
  // neighbours. grouped_by_heads: the queries, keys and values of a head follow each other.
  int64_t row_in(ForeignForm form, int64_t row, int64_t rows) const {
    if (form == ForeignForm::rotated_pairs) {
      const int64_t in_head = row % head_width, half = rotary_width / 2;
      const int64_t pair = in_head < half ? 2 * in_head : 2 * (in_head - half) + 1;
      return row - in_head + (in_head < rotary_width ? pair : in_head);
    }
    if (form == ForeignForm::grouped_by_heads) {
      constexpr int64_t kKinds = 3;
      const int64_t width = rows / kKinds / heads;
      const int64_t kind = row / (heads * width), head = row / width % heads, in_head = row % width;
      return (head * kKinds + kind) * width + in_head;
    }
    return row;
  }
};

}  // namespace heed
