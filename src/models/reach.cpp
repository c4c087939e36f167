#include "models/reach.h"

#include <algorithm>
#include <cstring>

namespace heed {
namespace {

bool any_head_sees(const VisibilityByHead& heads, int64_t query, int64_t key) {
  return std::ranges::any_of(heads.parts(), [&](const Visibility& part) { return part.sees(query, key); });
}

}  // namespace

std::vector<bool> reached_positions(const std::vector<VisibilityByHead>& visibility, int64_t layers,
                                    const ChangedToken& changed) {
  std::vector<bool> reached(static_cast<size_t>(changed.length), false);
  reached.at(static_cast<size_t>(changed.position)) = true;
  for (int64_t layer = 0; layer < layers; ++layer) {
    const VisibilityByHead& heads = visibility[static_cast<size_t>(layer) % visibility.size()];
    std::vector<bool> next = reached;
    for (int64_t query = 0; query < changed.length; ++query) {
      for (int64_t key = 0; key < changed.length; ++key) {
        if (reached[static_cast<size_t>(key)] && any_head_sees(heads, query, key)) {
          next[static_cast<size_t>(query)] = true;
        }
      }
    }
    reached = std::move(next);
  }
  return reached;
}

std::vector<int64_t> differing_rows(const ConstView& before, const ConstView& after) {
  ensure(before.rows() == after.rows() && before.columns() == after.columns() && before.type() == after.type(), "reach",
         "{} and {} have no rows in common", before, after);
  const auto bytes = static_cast<size_t>(before.columns() * size_of(before.type()));
  std::vector<int64_t> rows;
  for (int64_t row = 0; row < before.rows(); ++row) {
    if (std::memcmp(host_address(before.row_range(row, 1)), host_address(after.row_range(row, 1)), bytes) != 0) {
      rows.push_back(row);
    }
  }
  return rows;
}

}  // namespace heed
