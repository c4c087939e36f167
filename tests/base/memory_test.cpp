#include "base/system/memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <limits>

#include "base/system/files.h"
#include "test_folder.h"

namespace heed {
namespace {

constexpr int64_t kNone = std::numeric_limits<int64_t>::max();

class Memory : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_ / "memory/jobs/7");
    std::filesystem::create_directories(root_ / "jobs/8");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  std::filesystem::path root_ = test::folder_of_test();
};

TEST_F(Memory, IsLimitedByTheSmallestLimitOfAGroupAndThoseAroundIt) {
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

TEST_F(Memory, IsLimitedByGroupsOfTheSecondVersion) {
  const std::string groups = "0::/jobs/8\n";
  EXPECT_EQ(memory_limit_of_groups(groups, root_), kNone);
  write_file(root_ / "jobs/8/memory.max", "max\n");
  EXPECT_EQ(memory_limit_of_groups(groups, root_), kNone);
  write_file(root_ / "jobs/memory.max", "123456789012\n");
  EXPECT_EQ(memory_limit_of_groups(groups, root_), 123456789012);
}

TEST_F(Memory, IsResidentWhereItWasTouched) {
  constexpr size_t kSize = size_t{64} << 20, kPart = size_t{8} << 20;
  auto* const memory = static_cast<std::byte*>(
      mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  ASSERT_NE(static_cast<void*>(memory), MAP_FAILED);
  madvise(memory, kSize, MADV_NOHUGEPAGE);
  EXPECT_EQ(resident_bytes(memory, kSize), 0);
  std::memset(memory + kPart, 1, kPart);
  EXPECT_EQ(resident_bytes(memory, kSize), static_cast<int64_t>(kPart));
  EXPECT_EQ(resident_bytes(memory + kPart + 1, 10), 10);
  munmap(memory, kSize);
}

TEST_F(Memory, CanBeUsedHere) { EXPECT_GT(usable_memory(), peak_memory_bytes()); }

}  // namespace
}  // namespace heed
