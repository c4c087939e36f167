// Cutting a batch into shards.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace heed {

// Cuts a batch's sequences into at most `parts` runs of neighbours with about equal numbers of rows, none of them
// empty. `rows` has the rows of each sequence. Returns the number of sequences in each run.
std::vector<int64_t> even_parts(std::span<const int64_t> rows, int64_t parts);

// The batch in those parts.
template <class T, class Rows>
std::vector<std::span<const T>> cut_evenly(std::span<const T> batch, int64_t parts, Rows rows_of) {
  std::vector<int64_t> rows;
  rows.reserve(batch.size());
  for (const T& sequence : batch) {
    rows.push_back(rows_of(sequence));
  }
  std::vector<std::span<const T>> cut;
  for (const int64_t count : even_parts(rows, parts)) {
    cut.push_back(batch.first(static_cast<size_t>(count)));
    batch = batch.subspan(static_cast<size_t>(count));
  }
  return cut;
}

}  // namespace heed
