#include "decode/scoring/perplexity.h"

#include <algorithm>

#include "base/rounding.h"
#include "decode/scoring/target_log_probs.h"

namespace heed {
namespace {

constexpr int64_t kWindowTokens = 4096;  // about this many in one pass

// Rows [begin, end) of the text as inputs, each of which predicts the next token; the losses of the first ones are
// known already.
struct Window {
  int64_t begin, end, first_counted;
};

std::vector<Window> windows_of(int64_t rows, const Windows& rules) {
  std::vector<Window> windows;
  for (int64_t known = 0, begin = 0; known < rows; begin += rules.stride) {
    const int64_t end = std::min(rows, begin + rules.context);
    windows.push_back({begin, end, known});
    known = end;
  }
  return windows;
}

TokenBatch batch_of(std::span<const int32_t> tokens, std::span<const Window> windows) {
  std::vector<int32_t> ids, expected;
  std::vector<int64_t> lengths;
  for (const Window& window : windows) {
    lengths.push_back(window.end - window.begin);
    for (int64_t row = window.begin; row < window.end; ++row) {
      ids.push_back(tokens[static_cast<size_t>(row)]);
      expected.push_back(row < window.first_counted ? Targets::kIgnored : tokens[static_cast<size_t>(row) + 1]);
    }
  }
  return {Sequences(std::move(ids), Segments(lengths)), Targets(std::move(expected))};
}

}  // namespace

std::vector<double> surprisals(const Inference& inference, Lanes& lanes, std::span<const int32_t> tokens,
                               const Windows& rules, const Interruption& interruption, const Sharing& sharing) {
  ensure(tokens.size() >= 2 && rules.stride >= 1 && rules.stride <= rules.context, "perplexity",
         "{} tokens, context {}, stride {}", tokens.size(), rules.context, rules.stride);
  const std::vector<Window> windows = windows_of(static_cast<int64_t>(tokens.size()) - 1, rules);
  const auto at_once = static_cast<size_t>(std::max<int64_t>(1, kWindowTokens / rules.context));
  std::vector<double> nats(tokens.size() - 1);
  const auto read_part = [&](size_t task, Backend& backend) {
    const size_t first = task * at_once;
    const auto part = std::span(windows).subspan(first, std::min(at_once, windows.size() - first));
    const TokenBatch batch = batch_of(tokens, part);
    const std::vector<double> log_probs = log_probs_of_targets(inference.on(backend), batch);
    size_t row = 0;
    for (const Window& window : part) {
      for (int64_t at = window.begin; at < window.end; ++at, ++row) {
        if (at >= window.first_counted) {
          nats[static_cast<size_t>(at)] = -log_probs[row];
        }
      }
    }
  };
  lanes.run(ceil_div(windows.size(), at_once), read_part, interruption, sharing);
  return nats;
}

}  // namespace heed
