#include "decode/scheduling/request_memory.h"

#include <algorithm>

#include "base/rounding.h"
#include "decode/steppers/paged_stepper.h"

namespace heed {
namespace {

// docs/decoding.md promises 1.15 times the weights and 60 MB. The program, its libraries and the tokenizers take about
// 30 MB, and each of two lanes loses up to 7 MB to pages of the system that it fills in part. That is 8 MB too much, for
// which there is a share of the weights that no step reads: the encoder's.
constexpr int64_t kFixedBytes = 24'000'000;  // of all lanes together
constexpr double kShareOfWeights = 0.15;
constexpr int64_t kLeastBytesOfLane = 8 << 20;  // however many lanes there are

constexpr int64_t kShareOfPasses = 8;       // an eighth
constexpr int64_t kMinSourceTokens = 256;   // fewer would make products slow
constexpr int64_t kMaxSourceTokens = 2048;  // more would not make them faster
constexpr int64_t kWidthsOfToken = 8;       // of activations in the encoder, beside the inner layer
constexpr int64_t kBudgetsAtFirst = 2;      // requests turn out longer than foreseen

int64_t encoder_bytes_of_token(const Inference& member) {
  const ModelConfig& config = member.model.config();
  return (kWidthsOfToken * config.model + std::ranges::max(config.inner.values())) * size_of(member.storage);
}

}  // namespace

RequestMemory::RequestMemory(const Inference& inference, int64_t step_bytes)
    : vocabulary_(inference.model.config().target_vocabulary), max_cached_tokens_(inference.max_length()) {
  const int64_t of_weights = static_cast<int64_t>(kShareOfWeights * static_cast<double>(step_bytes));
  const int64_t bytes = std::max(kLeastBytesOfLane, (kFixedBytes + of_weights) / inference.backend.threads());
  pass_bytes_ = bytes / kShareOfPasses;
  cache_bytes_ = bytes - pass_bytes_;
  int64_t encoder_bytes = 0;
  for (const Inference& member : inference.members()) {
    const ModelConfig& config = member.model.config();
    const CacheShape shape = pool_shape(config, {});
    page_bytes_ += PagePool::page_bytes(member.cache_type(), shape);
    page_tokens_ = shape.page_tokens;
    bytes_of_column_ += size_of(member.storage) + size_of(DType::f32);
    encoder_bytes = std::max(encoder_bytes, encoder_bytes_of_token(member));
    if (const int64_t window = config.cached_window(); window > 0) {
      max_cached_tokens_ = std::min(max_cached_tokens_, window + page_tokens_);
    }
  }
  max_source_tokens_ = std::clamp(pass_bytes_ / encoder_bytes, kMinSourceTokens, kMaxSourceTokens);
}

RequestMemory::Need RequestMemory::need_of(const Request& request) const {
  const int64_t tokens = request.expected_tokens(max_cached_tokens_);
  if (tokens == 0) {
    return {};
  }
  const auto candidates = std::ssize(request.candidates());
  const int64_t pages = ceil_div(std::ssize(request.source()), page_tokens_) + ceil_div(tokens, page_tokens_);
  return {.cached = pages * page_bytes_,
          .scores = request.sequences() * (candidates > 0 ? candidates : vocabulary_) * bytes_of_column_};
}

bool RequestMemory::fits(const Need& of_all, Share share) const {
  const int64_t bytes = of_all.cached + std::max<int64_t>(0, of_all.scores - pass_bytes_);
  return share == Share::whole ? bytes <= cache_bytes_ : 4 * bytes <= 3 * cache_bytes_;
}

int64_t RequestMemory::tokens_at_first() const { return kBudgetsAtFirst * cache_bytes_ / page_bytes_ * page_tokens_; }

}  // namespace heed
