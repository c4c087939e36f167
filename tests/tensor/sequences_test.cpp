#include "tensor/sequences.h"

#include <gmock/gmock.h>

#include "base/errors.h"

namespace heed::test {
namespace {

using testing::ElementsAre;

std::vector<int64_t> sizes_of(const Segments& segments) {
  std::vector<int64_t> sizes;
  for (int64_t s = 0; s < segments.count(); ++s) {
    sizes.push_back(segments.length(s));
  }
  return sizes;
}

TEST(SequencesTest, CountPositionsInEachSequence) {
  const Sequences sequences({{7, 8, 9}, {}, {5}});
  EXPECT_THAT(sequences.positions(), ElementsAre(0, 1, 2, 0));
  EXPECT_THAT(sizes_of(sequences.segments()), ElementsAre(3, 0, 1));
  EXPECT_EQ(sequences.rows(), 4);
}

TEST(SequencesTest, FromTokensEndToEndAreTheSame) {
  const Sequences nested({{7, 8, 9}, {5}});
  const Sequences laid({7, 8, 9, 5}, nested.segments());
  EXPECT_EQ(laid.positions(), nested.positions());
  EXPECT_EQ(laid.rows(), nested.rows());
  EXPECT_THROW(Sequences({7, 8, 9}, nested.segments()), Error) << "a token is missing";
}

TEST(SequencesTest, ContinuationsCountPositionsFromWhereTheyStopped) {
  const std::vector<int32_t> tokens{1, 2, 3, 4};
  const std::span all(tokens);
  const std::vector<Continuation> continuations{{all.first(1), 5}, {all.subspan(1, 2), 0}, {all.last(1), 2}};
  const Sequences fresh = Sequences::continuing(continuations);
  EXPECT_THAT(fresh.tokens().ids(), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(fresh.positions(), ElementsAre(5, 0, 1, 2));
  EXPECT_THAT(sizes_of(fresh.segments()), ElementsAre(1, 2, 1));
}

TEST(SequencesTest, KeepTheirPlacesWhenTokensChange) {
  Sequences sequences({{7, 8, 9}, {5}}, 4);
  sequences.set_tokens({1, 2, 3, 4});
  EXPECT_THAT(sequences.sequence(0), ElementsAre(1, 2, 3));
  EXPECT_THAT(sequences.sequence(1), ElementsAre(4));
  EXPECT_THAT(sequences.positions(), ElementsAre(0, 1, 2, 0));
  EXPECT_EQ(sequences.segments().first_row(), 4U);
  EXPECT_THROW(sequences.set_tokens({1, 2, 3}), Error) << "a token is missing";
}

TEST(SequencesTest, PaddingIsLeftOut) {
  const Sequences sequences = Sequences::without_padding({1, 2, 0, 3, 0, 0}, 3, {2, 1});
  const Sequences real({{1, 2}, {3}});
  EXPECT_EQ(sequences.positions(), real.positions());
  EXPECT_EQ(sizes_of(sequences.segments()), sizes_of(real.segments()));
}

}  // namespace
}  // namespace heed::test
