#include "base/system/control_groups.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <string>

#include "base/system/files.h"
#include "test_folder.h"

namespace heed {
namespace {

constexpr int64_t kNone = std::numeric_limits<int64_t>::max();

class ControlGroups : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_ / "memory/jobs/7");
    std::filesystem::create_directories(root_ / "cpu/jobs/7");
    std::filesystem::create_directories(root_ / "jobs/8");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  std::filesystem::path root_ = test::folder_of_test();
};

TEST_F(ControlGroups, LimitMemoryByTheSmallestLimitOfAGroupAndThoseAroundIt) {
  const std::string groups = "4:cpu,memory:/jobs/7\n3:cpu:/\n";
  EXPECT_EQ(memory_limit_of_groups(groups, root_), kNone);
  write_file(root_ / "memory/jobs/7/memory.limit_in_bytes", "9223372036854771712\n");
  write_file(root_ / "memory/memory.limit_in_bytes", "5000\n");
  EXPECT_EQ(memory_limit_of_groups(groups, root_), 5000);
  write_file(root_ / "memory/jobs/memory.limit_in_bytes", "4000\n");
  EXPECT_EQ(memory_limit_of_groups(groups, root_), 4000);
  EXPECT_EQ(memory_limit_of_groups("4:memory:/elsewhere/7\n", root_), 5000);  // the folder is not to be seen
  EXPECT_EQ(memory_limit_of_groups("4:cpu:/jobs/7\n", root_), kNone);
  EXPECT_EQ(memory_limit_of_groups("no groups", root_), kNone);
}

TEST_F(ControlGroups, OfTheSecondVersionLimitMemoryToo) {
  const std::string groups = "0::/jobs/8\n";
  EXPECT_EQ(memory_limit_of_groups(groups, root_), kNone);
  write_file(root_ / "jobs/8/memory.max", "max\n");
  EXPECT_EQ(memory_limit_of_groups(groups, root_), kNone);
  write_file(root_ / "jobs/memory.max", "123456789012\n");
  EXPECT_EQ(memory_limit_of_groups(groups, root_), 123456789012);
}

constexpr int kAny = std::numeric_limits<int>::max();

TEST_F(ControlGroups, LimitProcessorsToTheSmallestQuotaRoundedUp) {
  const std::string groups = "4:cpu,cpuacct:/jobs/7\n3:memory:/\n";
  EXPECT_EQ(processor_limit_of_groups(groups, root_), kAny);
  write_file(root_ / "cpu/cpu.cfs_period_us", "100000\n");
  write_file(root_ / "cpu/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(processor_limit_of_groups(groups, root_), kAny);
  write_file(root_ / "cpu/cpu.cfs_quota_us", "800000\n");
  EXPECT_EQ(processor_limit_of_groups(groups, root_), 8);
  write_file(root_ / "cpu/jobs/cpu.cfs_quota_us", "120000\n");
  EXPECT_EQ(processor_limit_of_groups(groups, root_), 8);  // a quota of an unknown period
  write_file(root_ / "cpu/jobs/cpu.cfs_period_us", "50000\n");
  EXPECT_EQ(processor_limit_of_groups(groups, root_), 3);
  write_file(root_ / "cpu/jobs/7/cpu.cfs_period_us", "100000\n");
  write_file(root_ / "cpu/jobs/7/cpu.cfs_quota_us", "5000\n");
  EXPECT_EQ(processor_limit_of_groups(groups, root_), 1);
  EXPECT_EQ(processor_limit_of_groups("4:cpu,cpuacct:/elsewhere\n", root_), 8);  // the folder is not to be seen
  EXPECT_EQ(processor_limit_of_groups("4:cpuacct:/jobs/7\n", root_), kAny);
}

TEST_F(ControlGroups, OfTheSecondVersionLimitProcessorsToo) {
  const std::string groups = "0::/jobs/8\n";
  EXPECT_EQ(processor_limit_of_groups(groups, root_), kAny);
  write_file(root_ / "jobs/8/cpu.max", "max 100000\n");
  EXPECT_EQ(processor_limit_of_groups(groups, root_), kAny);
  write_file(root_ / "jobs/cpu.max", "250000 100000\n");
  EXPECT_EQ(processor_limit_of_groups(groups, root_), 3);
  write_file(root_ / "jobs/8/cpu.max", "200000 100000\n");
  EXPECT_EQ(processor_limit_of_groups(groups, root_), 2);
}

}  // namespace
}  // namespace heed
