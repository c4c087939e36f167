#include "kernels/visibility.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/errors.h"
#include "base/random.h"

namespace heed {
namespace {

using Reach = Visibility::Reach;

TEST(Visibility, SeesWhatItsDefinitionSays) {
  EXPECT_TRUE(Visibility::full().sees(0, 1000));
  EXPECT_TRUE(Visibility::causal().sees(5, 5));
  EXPECT_TRUE(Visibility::causal().sees(5, 0));
  EXPECT_FALSE(Visibility::causal().sees(5, 6));
  const Visibility around = Visibility::local(Reach::full, 3), before = Visibility::local(Reach::causal, 3);
  EXPECT_TRUE(around.sees(5, 3) && around.sees(5, 7));
  EXPECT_FALSE(around.sees(5, 2) || around.sees(5, 8));
  EXPECT_TRUE(before.sees(5, 3) && before.sees(5, 5));
  EXPECT_FALSE(before.sees(5, 2) || before.sees(5, 6));
}

TEST(Visibility, AStrideShowsEveryNthToken) {
  const Visibility before = Visibility::strided(Reach::causal, 3), around = Visibility::strided(Reach::full, 3);
  EXPECT_TRUE(before.sees(7, 7) && before.sees(7, 4) && before.sees(7, 1));
  EXPECT_FALSE(before.sees(7, 5) || before.sees(7, 6) || before.sees(7, 10));
  EXPECT_TRUE(around.sees(7, 10) && around.sees(7, 1));
  EXPECT_FALSE(around.sees(7, 9));
}

TEST(Visibility, CountAndResidueClassesAgreeWithSees) {
  for (const Reach reach : {Reach::full, Reach::causal}) {
    for (const int64_t window : {0, 1, 5}) {
      for (const int64_t stride : {1, 2, 5, 30}) {
        const Visibility visibility{reach, window, stride};
        for (const auto& [queries, keys] : {std::pair<int64_t, int64_t>(12, 12), {3, 12}, {12, 3}, {0, 4}, {4, 0}}) {
          int64_t queries_found = 0, keys_found = 0;
          for (int64_t residue = 0; residue < stride; ++residue) {
            const ResidueClass tokens({.queries = queries, .keys = keys, .stride = stride, .residue = residue});
            queries_found += tokens.queries;
            keys_found += tokens.keys;
            for (int64_t i = 0; i < tokens.queries; ++i) {
              const int64_t position = keys - queries + tokens.first_query + i * stride;
              int64_t seen = 0;
              for (int64_t key = 0; key < keys; ++key) {
                seen += visibility.sees(position, key) ? 1 : 0;
              }
              ASSERT_EQ(visibility.count(position, keys), seen) << position << " " << window << " " << stride;
              for (int64_t j = 0; j < tokens.keys; ++j) {
                ASSERT_EQ(visibility.within_class().sees(tokens.first_position + i, j),
                          visibility.sees(position, residue + j * stride));
              }
            }
          }
          ASSERT_EQ(queries_found, queries);
          ASSERT_EQ(keys_found, keys);
        }
      }
    }
  }
}

TEST(Visibility, TheRangeIsTheSmallestThatContainsAllSeenKeys) {
  for (const Reach reach : {Reach::full, Reach::causal}) {
    for (const int64_t window : {0, 1, 2, 3, 7, 100}) {
      const Visibility visibility = Visibility::local(reach, window);
      for (int64_t keys = 0; keys <= 12; ++keys) {
        // Includes positions before the first key and after the last one.
        for (int64_t first = -4; first < 15; ++first) {
          for (int64_t last = first; last < 15; ++last) {
            int64_t begin = keys, end = 0;
            for (int64_t query = first; query <= last; ++query) {
              for (int64_t key = 0; key < keys; ++key) {
                if (visibility.sees(query, key)) {
                  begin = std::min(begin, key);
                  end = std::max(end, key + 1);
                }
              }
            }
            const Visibility::Range range = visibility.range(first, last, keys);
            if (begin >= end) {
              ASSERT_GE(range.begin, range.end) << first << " " << last << " " << keys << " " << window;
            } else {
              ASSERT_EQ(range.begin, begin) << first << " " << last << " " << keys << " " << window;
              ASSERT_EQ(range.end, end) << first << " " << last << " " << keys << " " << window;
            }
          }
        }
      }
    }
  }
}

const std::vector<int64_t> kQueries{3, 1, 70}, kKeys{5, 64, 129};  // whole words of bits, and one bit more

TEST(AttentionMask, ShowsNothingUntilToldTo) {
  AttentionMask mask{Segments(kQueries), Segments(kKeys)};
  EXPECT_EQ(mask.sequences(), 3);
  EXPECT_EQ(mask.queries(2), 70);
  EXPECT_EQ(mask.keys(1), 64);
  std::vector<std::vector<bool>> expected;
  for (size_t s = 0; s < 3; ++s) {
    expected.emplace_back(static_cast<size_t>(kQueries[s] * kKeys[s]), false);
  }
  for (uint64_t i = 0; i < 2000; ++i) {
    const uint64_t draw = mix_bits(i + 1);
    const int64_t s = static_cast<int64_t>(draw % 3);
    const int64_t query = static_cast<int64_t>((draw >> 8) % static_cast<uint64_t>(mask.queries(s)));
    const int64_t key = static_cast<int64_t>((draw >> 32) % static_cast<uint64_t>(mask.keys(s)));
    const bool show = i % 3 != 0;
    show ? mask.show(s, query, key) : mask.hide(s, query, key);
    expected[static_cast<size_t>(s)][static_cast<size_t>(query * mask.keys(s) + key)] = show;
  }
  for (int64_t s = 0; s < 3; ++s) {
    for (int64_t query = 0; query < mask.queries(s); ++query) {
      for (int64_t key = 0; key < mask.keys(s); ++key) {
        ASSERT_EQ(mask.sees(s, query, key),
                  expected[static_cast<size_t>(s)][static_cast<size_t>(query * mask.keys(s) + key)]);
      }
    }
  }
}

TEST(AttentionMask, RefusesPositionsOutsideItsBlocks) {
  AttentionMask mask{Segments(kQueries), Segments(kKeys)};
  EXPECT_THROW(mask.show(3, 0, 0), ShapeError);
  EXPECT_THROW(mask.show(-1, 0, 0), ShapeError);
  EXPECT_THROW(mask.show(0, 3, 0), ShapeError);
  EXPECT_THROW(mask.show(0, -1, 0), ShapeError);
  EXPECT_THROW(mask.hide(0, 0, 5), ShapeError);
  EXPECT_THROW(mask.hide(0, 0, -1), ShapeError);
  EXPECT_THROW((AttentionMask{Segments(kQueries), Segments(std::vector<int64_t>{1})}), ShapeError);
}

TEST(AttentionMask, PaddingMaskShowsTheFirstKeys) {
  const AttentionMask mask = padding_mask(Segments(kQueries), Segments(kKeys), {2, 0, 129});
  for (int64_t s = 0; s < 3; ++s) {
    const int64_t visible = std::vector<int64_t>{2, 0, 129}[static_cast<size_t>(s)];
    for (int64_t query = 0; query < mask.queries(s); ++query) {
      for (int64_t key = 0; key < mask.keys(s); ++key) {
        ASSERT_EQ(mask.sees(s, query, key), key < visible);
      }
    }
  }
  EXPECT_THROW(padding_mask(Segments(kQueries), Segments(kKeys), {1, 1}), ShapeError);
  EXPECT_THROW(padding_mask(Segments(kQueries), Segments(kKeys), {6, 0, 0}), ShapeError);
}

TEST(AttentionMask, CausalMaskAgreesWithThePredicate) {
  const AttentionMask mask = causal_mask(Segments(kQueries));
  for (int64_t s = 0; s < 3; ++s) {
    for (int64_t query = 0; query < mask.queries(s); ++query) {
      for (int64_t key = 0; key < mask.keys(s); ++key) {
        ASSERT_EQ(mask.sees(s, query, key), Visibility::causal().sees(query, key));
      }
    }
  }
}

TEST(AttentionMask, CombinedMasksShowWhatBothShow) {
  const Segments segments(kQueries);
  const AttentionMask padding = padding_mask(segments, segments, {2, 0, 66});
  const AttentionMask both = combine(causal_mask(segments), padding);
  for (int64_t s = 0; s < 3; ++s) {
    for (int64_t query = 0; query < both.queries(s); ++query) {
      for (int64_t key = 0; key < both.keys(s); ++key) {
        ASSERT_EQ(both.sees(s, query, key), key <= query && padding.sees(s, query, key));
      }
    }
  }
  EXPECT_THROW(combine(both, causal_mask(Segments(std::vector<int64_t>{3, 1}))), ShapeError);
  EXPECT_THROW(combine(both, causal_mask(Segments(std::vector<int64_t>{3, 1, 71}))), ShapeError);
}

}  // namespace
}  // namespace heed
