#include "data/batches/even_parts.h"

#include <numeric>

namespace heed {

// A sequence belongs to the part in which its middle row lies, if all rows are divided evenly.
std::vector<int64_t> even_parts(std::span<const int64_t> rows, int64_t parts) {
  const int64_t total = std::accumulate(rows.begin(), rows.end(), int64_t{0});
  std::vector<int64_t> counts;
  int64_t before = 0, part_of_last = -1;
  for (const int64_t own : rows) {
    const int64_t part = total == 0 ? 0 : (2 * before + own) * parts / (2 * total + 1);
    if (part != part_of_last) {
      counts.push_back(0);
      part_of_last = part;
    }
    ++counts.back();
    before += own;
  }
  return counts;
}

}  // namespace heed
