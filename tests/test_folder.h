// Where a test may write.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>

namespace heed::test {

// The running test's own folder: other suites have tests of the same name, and CTest runs several at once. Nothing is
// created here.
inline std::filesystem::path folder_of_test() {
  const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
  std::string name =
      std::string("heed_") + test.test_suite_name() + "_" + test.name() + "_" + std::to_string(::getpid());
  std::ranges::replace(name, '/', '_');
  return std::filesystem::path(testing::TempDir()) / name;
}

}  // namespace heed::test
