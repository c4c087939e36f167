#include "data/batches/noised_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/errors.h"

namespace heed {
namespace {

constexpr int32_t kFirstSentinel = 1000, kMask = 999;

std::vector<int32_t> sentinels(int64_t count) {
  std::vector<int32_t> marks(static_cast<size_t>(count));
  std::iota(marks.begin(), marks.end(), kFirstSentinel);
  return marks;
}

std::vector<int32_t> numbers(int64_t count) {
  std::vector<int32_t> text(static_cast<size_t>(count));
  std::iota(text.begin(), text.end(), 0);
  return text;
}

RandomKey key_of(int64_t draw) { return RandomKey{11}.derive(static_cast<uint64_t>(draw)); }

// The source with each sentinel replaced by what follows it in the target.
std::vector<int32_t> restored(const NoisedText& noised) {
  std::vector<int32_t> text;
  for (const int32_t token : noised.source) {
    if (token < kFirstSentinel) {
      text.push_back(token);
      continue;
    }
    auto at = std::ranges::find(noised.target, token) + 1;
    for (; at != noised.target.end() && *at < kFirstSentinel; ++at) {
      text.push_back(*at);
    }
  }
  return text;
}

TEST(NoisedText, OfSpansIsTheTextOnceItsSentinelsAreReplaced) {
  for (int64_t tokens = 2; tokens < 60; ++tokens) {
    const Noising noising({.share = 0.3, .mean_length = 2.0}, sentinels(50));
    for (int64_t draw = 0; draw < 5; ++draw) {
      const std::vector<int32_t> text = numbers(tokens);
      const NoisedText noised = noising.apply(text, key_of(draw));
      EXPECT_EQ(restored(noised), text);
      // round(0.3 n) tokens are hidden, in round(hidden / 2) spans, and a sentinel more ends the target.
      const int64_t hidden = std::clamp<int64_t>(std::llround(0.3 * static_cast<double>(tokens)), 1, tokens - 1);
      const int64_t spans =
          std::clamp<int64_t>(std::llround(static_cast<double>(hidden) / 2.0), 1, std::min(hidden, tokens - hidden));
      EXPECT_EQ(std::ssize(noised.source), tokens - hidden + spans);
      EXPECT_EQ(std::ssize(noised.target), hidden + spans + 1);
      EXPECT_EQ(noised.target.front(), kFirstSentinel);
      EXPECT_EQ(noised.target.back(), kFirstSentinel + spans);
      EXPECT_LT(noised.source.front(), kFirstSentinel);
    }
  }
}

TEST(NoisedText, HasNoMoreSpansThanSentinels) {
  const Noising noising({.share = 0.5, .mean_length = 1.0}, sentinels(3));
  const NoisedText noised = noising.apply(numbers(40), key_of(1));
  EXPECT_EQ(noised.target.back(), kFirstSentinel + 2);
  EXPECT_EQ(restored(noised), numbers(40));
}

TEST(NoisedText, OfInfillingHasAMaskForEachSpanAndTheWholeTextAsItsTarget) {
  const Noising noising({.kind = NoiseKind::infilling, .share = 0.3, .mean_length = 3.0}, {kMask});
  int64_t masks = 0, texts = 0;
  for (int64_t tokens = 2; tokens < 80; ++tokens) {
    for (int64_t draw = 0; draw < 5; ++draw, ++texts) {
      const std::vector<int32_t> text = numbers(tokens);
      const NoisedText noised = noising.apply(text, key_of(draw));
      EXPECT_EQ(noised.target, text);
      std::vector<int32_t> kept = noised.source;
      masks += std::erase(kept, kMask);
      const int64_t hidden = std::clamp<int64_t>(std::llround(0.3 * static_cast<double>(tokens)), 1, tokens - 1);
      EXPECT_EQ(std::ssize(kept), tokens - hidden);
      EXPECT_TRUE(std::ranges::is_sorted(kept));
      EXPECT_LE(noised.source.size(), text.size());
    }
  }
  EXPECT_GT(masks, 2 * texts);
}

TEST(NoisedText, HidesEveryTokenEquallyOften) {
  for (const NoiseKind kind : {NoiseKind::spans, NoiseKind::infilling}) {
    const Noising noising({.kind = kind, .share = 0.25, .mean_length = 2.0},
                          kind == NoiseKind::spans ? sentinels(20) : std::vector{kMask});
    constexpr int64_t kTokens = 24, kDraws = 4000;
    std::vector<int64_t> seen(kTokens);
    for (int64_t draw = 0; draw < kDraws; ++draw) {
      for (const int32_t token : noising.apply(numbers(kTokens), key_of(draw)).source) {
        if (token < kMask) {
          ++seen[static_cast<size_t>(token)];
        }
      }
    }
    // With spans the first token always stays, and the last one never does; the middle is even.
    for (size_t i = 8; i < 16; ++i) {
      EXPECT_NEAR(static_cast<double>(seen[i]) / kDraws, 0.75, 0.06) << i;
    }
  }
}

TEST(NoisedText, DependsOnItsKey) {
  const Noising noising({}, sentinels(20));
  const std::vector<int32_t> text = numbers(50);
  EXPECT_EQ(noising.apply(text, key_of(1)).source, noising.apply(text, key_of(1)).source);
  EXPECT_NE(noising.apply(text, key_of(1)).source, noising.apply(text, key_of(2)).source);
}

TEST(NoisedText, RefusesRulesWithoutSense) {
  EXPECT_THROW(NoiseRules({.share = 0.0}).validate(), ConfigError);
  EXPECT_THROW(NoiseRules({.share = 1.0}).validate(), ConfigError);
  EXPECT_THROW(NoiseRules({.mean_length = 0.5}).validate(), ConfigError);
}

}  // namespace
}  // namespace heed
