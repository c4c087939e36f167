#include "parallel/layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.h"

namespace heed {
namespace {

using testing::ElementsAre;

std::string layout_refusal(std::string_view text, int64_t ranks = 1) {
  try {
    parse_layout(text, ranks, "--layout");
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(Layout, IsReadAndShown) {
  EXPECT_EQ(parse_layout("data=2,pipeline=3", 0, "--layout"), (Layout{.data = 2, .pipeline = 3, .tensor = 1}));
  EXPECT_EQ(parse_layout("tensor=4,data=2", 0, "--layout"), (Layout{.data = 2, .pipeline = 1, .tensor = 4}));
  EXPECT_EQ(parse_layout("data=2,pipeline=3,tensor=4", 0, "--layout"), (Layout{2, 3, 4}));
  EXPECT_EQ(parse_layout("pipeline=2", 0, "--layout"), (Layout{1, 2, 1}));
  EXPECT_EQ(parse_layout("", 0, "--layout"), Layout());
  EXPECT_EQ(to_text(Layout{.data = 2, .pipeline = 3, .tensor = 1}), "data=2,pipeline=3,tensor=1");
  EXPECT_EQ(to_text(Layout{}), "data=1,pipeline=1,tensor=1");
}

TEST(Layout, RefusesWhatItCannotRead) {
  EXPECT_EQ(layout_refusal("data=2,stages=2"), "--layout: 'stages' is not one of data, pipeline, tensor");
  EXPECT_EQ(layout_refusal("pipelin=2"),
            "--layout: 'pipelin' is not one of data, pipeline, tensor, did you mean 'pipeline'?");
  EXPECT_EQ(layout_refusal("data=2,data=3"), "--layout: 'data=2,data=3' names data twice");
  EXPECT_EQ(layout_refusal("data=2,"), "--layout: 'data=2,' ends with a comma");
  for (const std::string part :
       {"data=0", "data=-1", "data=", "data", "data=2x", "data=65537", "data=100000", "data=99999999999"}) {
    EXPECT_EQ(layout_refusal(part),
              "--layout: '" + part + "' is not a name and a number from 1 to 65536, as in data=2,pipeline=2");
  }
}

TEST(Layout, FillsInTheCopiesOfTheModel) {
  EXPECT_EQ(parse_layout("", 4, "--layout"), (Layout{.data = 4}));
  EXPECT_EQ(parse_layout("pipeline=2", 6, "--layout"), (Layout{.data = 3, .pipeline = 2}));
  EXPECT_EQ(parse_layout("pipeline=2", 8, "--layout"), (Layout{4, 2, 1}));
  EXPECT_EQ(parse_layout("data=2,pipeline=2", 4, "--layout"), (Layout{.data = 2, .pipeline = 2}));
}

TEST(Layout, RefusesAnotherNumberOfRanks) {
  EXPECT_EQ(layout_refusal("data=2,pipeline=2", 3),
            "--layout: data=2,pipeline=2,tensor=1 needs 4 ranks, but there are 3");
  EXPECT_EQ(layout_refusal("data=2,pipeline=2", 8),
            "--layout: data=2,pipeline=2,tensor=1 needs 4 ranks, but there are 8");
  EXPECT_EQ(layout_refusal("data=2"), "--layout: data=2,pipeline=1,tensor=1 needs 2 ranks, but there is 1");
  EXPECT_EQ(layout_refusal("pipeline=4", 2), "--layout: pipeline=4,tensor=1 needs 4 ranks, but there are 2");
  EXPECT_EQ(layout_refusal("pipeline=2", 3),
            "--layout: pipeline=2,tensor=1 needs a multiple of 2 ranks, but there are 3");
  EXPECT_EQ(layout_refusal("data=65536,pipeline=65536,tensor=65536", 4),
            "--layout: data=65536,pipeline=65536,tensor=65536 needs 281474976710656 ranks, but there are 4");
  EXPECT_EQ(layout_refusal("pipeline=2", 1 << 20), "--layout: 1048576 ranks, expected at most 65536");
}

TEST(Layout, NumbersRanksByCopyThenStageThenPart) {
  const Layout layout{.data = 2, .pipeline = 3, .tensor = 2};
  EXPECT_EQ(position_of(layout, 0), (LayoutPosition{0, 0, 0}));
  EXPECT_EQ(position_of(layout, 1), (LayoutPosition{0, 0, 1}));
  EXPECT_EQ(position_of(layout, 2), (LayoutPosition{0, 1, 0}));
  EXPECT_EQ(position_of(layout, 11), (LayoutPosition{1, 2, 1}));
  for (int rank = 0; rank < 12; ++rank) {
    EXPECT_EQ(rank_at(layout, position_of(layout, rank)), rank);
  }
}

TEST(Layout, GroupsRanks) {
  const Layout layout{.data = 2, .pipeline = 3, .tensor = 2};
  EXPECT_THAT(members_of(layout, RankGroup::data, 9), ElementsAre(3, 9));
  EXPECT_THAT(members_of(layout, RankGroup::pipeline, 9), ElementsAre(7, 9, 11));
  EXPECT_THAT(members_of(layout, RankGroup::tensor, 9), ElementsAre(8, 9));
  EXPECT_THAT(members_of(layout, RankGroup::part, 9), ElementsAre(1, 3, 5, 7, 9, 11));
}

}  // namespace
}  // namespace heed
