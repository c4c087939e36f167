#include "base/system/memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>

namespace heed {
namespace {

TEST(Memory, IsResidentWhereItWasTouched) {
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

TEST(Memory, CanBeUsedHere) { EXPECT_GT(usable_memory(), peak_memory_bytes()); }

}  // namespace
}  // namespace heed
