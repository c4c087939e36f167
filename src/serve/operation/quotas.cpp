#include "serve/operation/quotas.h"

namespace heed::serve {
namespace {

constexpr std::chrono::seconds kMinute{60}, kDay{86400};

}  // namespace

std::optional<std::chrono::seconds> Quotas::until_room(Window& window, std::chrono::seconds length, int64_t limit,
                                                       Clock::time_point now) {
  if (window.since == Clock::time_point{} || now - window.since >= length) {
    window = {now, 0};
  }
  if (limit == 0 || window.used < limit) {
    return std::nullopt;
  }
  return std::chrono::ceil<std::chrono::seconds>(window.since + length - now);
}

std::optional<std::chrono::seconds> Quotas::begin(const KeySettings& key, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  Use& use = uses_[key.name];
  const auto for_requests = until_room(use.requests, kMinute, key.requests_per_minute, now);
  const auto for_tokens = until_room(use.tokens, kDay, key.tokens_per_day, now);
  if (for_requests || for_tokens) {
    return std::max(for_requests.value_or(std::chrono::seconds(0)), for_tokens.value_or(std::chrono::seconds(0)));
  }
  ++use.requests.used;
  return std::nullopt;
}

void Quotas::count_tokens(const KeySettings& key, int64_t tokens) {
  const std::lock_guard lock(mutex_);
  uses_[key.name].tokens.used += tokens;
}

}  // namespace heed::serve
