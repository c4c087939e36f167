// How busy a model is.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

namespace heed {

// At one moment. Texts are prompts, lines, or what an encoder reads.
struct Workload {
  int64_t waiting = 0;    // texts of calls that have not begun
  int64_t running = 0;    // texts that have begun and not ended
  int64_t sequences = 0;  // of the running texts: samples, or hypotheses of beams
  // Pages of keys and values of all workers: those that are read or kept, and those that have memory but are free.
  int64_t used_pages = 0, free_pages = 0;
  // Since the model was loaded: its steps, or an encoder's batches, and the tokens that they read.
  int64_t steps = 0, tokens = 0;
  // How many of the steps read up to 2^i tokens, and more than half of that; the last: any larger number.
  static constexpr size_t kSizes = 14;
  std::array<int64_t, kSizes> steps_by_size = {};

  void count_step(int64_t read) {
    ++steps;
    tokens += read;
    ++steps_by_size[std::min<size_t>(std::bit_width(static_cast<uint64_t>(read - 1)), kSizes - 1)];
  }
  double tokens_per_step() const { return steps == 0 ? 0.0 : static_cast<double>(tokens) / static_cast<double>(steps); }
};

}  // namespace heed
