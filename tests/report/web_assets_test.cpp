#include "report/web_assets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "base/errors.h"
#include "base/system/files.h"
#include "source_root.h"

namespace heed::test {
namespace {

TEST(WebAssets, AreTheFilesOfWebToTheByte) {
  const std::filesystem::path folder = source_root() / "web";
  std::map<std::string, std::string> files, built_in;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) {
      files[std::filesystem::relative(entry.path(), folder).string()] = read_file(entry.path());
    }
  }
  for (const WebAsset& asset : web_assets()) {
    built_in[std::string(asset.path)] = asset.text;
  }
  EXPECT_GT(files.size(), 3U);
  EXPECT_EQ(built_in, files);
}

TEST(WebAssets, AMissingOneIsAnInternalError) {
  EXPECT_EQ(web_asset("report/charts.js").substr(0, 2), "//");
  EXPECT_THROW(web_asset("charts.js"), InternalError);
}

}  // namespace
}  // namespace heed::test
