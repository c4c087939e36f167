#include "decode/scheduling/request_memory.h"

#include <algorithm>

#include "base/rounding.h"
#include "decode/steppers/paged_stepper.h"

namespace heed {
namespace {

constexpr int64_t kTokensOfPage = KeyValueCache::kPageTokens;
constexpr int64_t kFixedBytes = 36 << 20;       // of all lanes together, beside the share of the weights
constexpr int64_t kWeightsOverShare = 3;        // a third of the weights' bytes is added
constexpr int64_t kLeastBytesOfLane = 8 << 20;  // however many lanes there are
constexpr int64_t kEncodersShare = 4;           // a quarter is for the encoder's activations
constexpr int64_t kMinSourceTokens = 256;       // fewer would make products slow
constexpr int64_t kMaxSourceTokens = 2048;      // more would not make them faster
constexpr int64_t kWidthsOfToken = 8;           // of activations in the encoder, beside the inner layer

int64_t encoder_bytes_of_token(const Inference& member) {
  const ModelConfig& config = member.model.config();
  return (kWidthsOfToken * config.model + std::ranges::max(config.inner.values())) * size_of(member.storage);
}

}  // namespace

RequestMemory::RequestMemory(const Inference& inference, int64_t step_bytes)
    : vocabulary_(inference.model.config().target_vocabulary), max_cached_tokens_(inference.max_length()) {
  const int64_t lanes = inference.backend.threads();
  const int64_t bytes = std::max(kLeastBytesOfLane, (kFixedBytes + step_bytes / kWeightsOverShare) / lanes);
  budget_ = bytes - bytes / kEncodersShare;
  int64_t encoder_bytes = 0;
  for (const Inference& member : inference.members()) {
    const ModelConfig& config = member.model.config();
    page_bytes_ += KeyValueCache::page_bytes(member.cache_type(), cache_shape(config, {}));
    bytes_of_column_ += size_of(member.storage) + size_of(DType::f32);
    encoder_bytes = std::max(encoder_bytes, encoder_bytes_of_token(member));
    if (const int64_t window = config.cached_window(); window > 0) {
      max_cached_tokens_ = std::min(max_cached_tokens_, window + kTokensOfPage);
    }
  }
  max_source_tokens_ = std::clamp(bytes / kEncodersShare / encoder_bytes, kMinSourceTokens, kMaxSourceTokens);
}

int64_t RequestMemory::bytes_of(const Request& request) const {
  const int64_t tokens = std::min(request.expected_tokens(), max_cached_tokens_);
  if (tokens == 0) {
    return 0;
  }
  const auto candidates = std::ssize(request.candidates());
  const int64_t of_sequence =
      ceil_div(tokens, kTokensOfPage) * page_bytes_ + (candidates > 0 ? candidates : vocabulary_) * bytes_of_column_;
  return ceil_div(std::ssize(request.source()), kTokensOfPage) * page_bytes_ + request.sequences() * of_sequence;
}

int64_t RequestMemory::tokens_in_budget() const { return budget_ / page_bytes_ * kTokensOfPage; }

}  // namespace heed
