// Files to read in tests, in a temporary folder.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/errors.h"
#include "base/strong.h"

namespace heed {

class InFolder : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  std::filesystem::path put(const std::string& name, std::string_view content) const;
  std::filesystem::path put_gzip(const std::string& name, std::string_view content) const;

  std::filesystem::path folder_;
};

std::string gzip(std::string_view content);

// One token for each word: its number, if it is one, else its first byte.
std::vector<TokenId> encode_words(std::string_view text);

// The processor's seconds that a call takes: the least of three, since other processes can only add to it.
double least_seconds(const auto& call) {
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 3; ++i) {
    const std::clock_t begin = std::clock();
    call();
    least = std::min(least, static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  }
  return least;
}

// The message of what `call` throws, which must be a Kind; empty when it throws nothing.
template <class Kind>
std::string message_of(const auto& call) {
  try {
    call();
  } catch (const Kind& error) {
    return error.what();
  }
  return "";
}

}  // namespace heed
