#include "ranks/job_share.h"

#include <gtest/gtest.h>

namespace heed {
namespace {

using Sets = std::vector<ProcessorSet>;

TEST(ProcessorShare, RanksThatMayUseTheSameProcessorsDivideThem) {
  const Sets two{{"a", {0, 1, 2, 3}}, {"a", {0, 1, 2, 3}}};
  EXPECT_EQ(processor_share(two, 0), 2);
  const Sets three{{"a", {0, 1, 2}}, {"a", {0, 1, 2}}, {"a", {0, 1, 2}}};
  EXPECT_EQ(processor_share(three, 2), 1);
}

TEST(ProcessorShare, RanksThatAreBoundKeepTheirProcessors) {
  const Sets bound{{"a", {0, 1}}, {"a", {2, 3}}};
  EXPECT_EQ(processor_share(bound, 1), 2);
}

TEST(ProcessorShare, OtherMachinesDoNotCount) {
  const Sets machines{{"a", {0, 1}}, {"b", {0, 1}}};
  EXPECT_EQ(processor_share(machines, 0), 2);
}

TEST(ProcessorShare, RanksOfAMachineShareItsQuota) {
  const Sets limited{{"a", {0, 1, 2, 3, 4, 5, 6, 7}, 4}, {"a", {0, 1, 2, 3, 4, 5, 6, 7}, 4}, {"b", {0, 1, 2}, 2}};
  EXPECT_EQ(processor_share(limited, 0), 2);
  EXPECT_EQ(processor_share(limited, 2), 2);
  const Sets less_than_one_each{{"a", {0, 1}, 1}, {"a", {0, 1}, 1}};
  EXPECT_EQ(processor_share(less_than_one_each, 0), 1);
}

TEST(ProcessorShare, IsAtLeastOne) {
  const Sets crowded{{"a", {0}}, {"a", {0}}, {"a", {0}}};
  EXPECT_EQ(processor_share(crowded, 1), 1);
  EXPECT_EQ(processor_share(Sets{{"a", {}}}, 0), 1);
}

}  // namespace
}  // namespace heed
