#include "interchange/archive/safetensors_archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "archive_files.h"
#include "base/errors.h"
#include "base/system/files.h"
#include "test_folder.h"

namespace heed {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

class SafetensorsArchive : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write_two_shards() const {
    test::write_floats(folder_ / "one.safetensors", {{"a", {1, 2}}, {"b", {3}}});
    test::write_floats(folder_ / "two.safetensors", {{"c", {4}}});
  }
  void write_index(const std::string& map) const {
    write_file(folder_ / "model.safetensors.index.json", R"({"metadata":{"total_size":16},"weight_map":)" + map + "}");
  }
  std::string refusal() const {
    try {
      open_safetensors_archive(folder_);
    } catch (const FormatError& error) {
      return error.what();
    }
    return "";
  }
  std::string refusal_of_index(const std::string& map) const {
    write_two_shards();
    write_index(map);
    return refusal();
  }

  std::filesystem::path folder_ = test::folder_of_test();
};

TEST_F(SafetensorsArchive, OpensAFileOrItsFolder) {
  test::write_floats(folder_ / "model.safetensors", {{"a", {1, 2}}});
  for (const auto& path : {folder_, folder_ / "model.safetensors"}) {
    const TensorArchive archive = open_safetensors_archive(path);
    EXPECT_THAT(read_floats(archive.at("a")), ElementsAre(1, 2));
    EXPECT_THAT(archive.where(), EndsWith("model.safetensors"));
    EXPECT_EQ(archive.where(archive.at("a")), archive.where());
  }
}

TEST_F(SafetensorsArchive, FindsTensorsInTheirShards) {
  write_two_shards();
  write_index(R"({"a":"one.safetensors","b":"one.safetensors","c":"two.safetensors"})");
  TensorArchive opened = open_safetensors_archive(folder_);
  const TensorArchive archive = std::move(opened);
  ASSERT_EQ(archive.tensors().size(), 3U);
  EXPECT_THAT(read_floats(archive.at("c")), ElementsAre(4));
  EXPECT_THAT(archive.where(archive.at("c")), EndsWith("two.safetensors"));
  EXPECT_THAT(archive.where(), EndsWith("index.json"));
  archive.give_back(archive.at("a").bytes);
  EXPECT_THAT(read_floats(archive.at("a")), ElementsAre(1, 2));
}

TEST_F(SafetensorsArchive, AFolderWithoutWeightsIsRefused) {
  EXPECT_THAT(refusal(), HasSubstr("there is neither model.safetensors nor model.safetensors.index.json"));
  EXPECT_FALSE(has_safetensors(folder_));
}

TEST_F(SafetensorsArchive, PathsOutOfTheFolderAreRefused) {
  for (const std::string file : {"../one.safetensors", "/etc/passwd", "..", "", "sub\\\\one", "a\\u0000b"}) {
    EXPECT_THAT(refusal_of_index(R"({"a":")" + file + R"("})"), HasSubstr("expected the plain name of a file")) << file;
  }
}

TEST_F(SafetensorsArchive, AMissingShardIsNamed) {
  EXPECT_THAT(refusal_of_index(R"({"a":"one.safetensors","c":"three.safetensors"})"),
              HasSubstr("index.json: weight_map: the shard three.safetensors is not in the folder"));
}

TEST_F(SafetensorsArchive, ATensorThatIsNotInItsShardIsNamed) {
  EXPECT_THAT(refusal_of_index(R"({"a":"one.safetensors","x":"one.safetensors"})"),
              HasSubstr("there is no tensor 'x' in one.safetensors"));
  EXPECT_THAT(refusal_of_index(R"({"a":"two.safetensors","b":"one.safetensors"})"),
              HasSubstr("there is no tensor 'a' in two.safetensors"));
}

TEST_F(SafetensorsArchive, ATensorInTwoShardsIsRefused) {
  write_two_shards();
  test::write_floats(folder_ / "two.safetensors", {{"a", {4}}});
  write_index(R"({"a":"one.safetensors","b":"two.safetensors"})");
  EXPECT_THAT(refusal(), HasSubstr("tensor 'a' occurs twice, and first in "));
}

TEST_F(SafetensorsArchive, AnIndexOfAnotherFormIsRefused) {
  EXPECT_THAT(refusal_of_index("[]"), HasSubstr("there is no object 'weight_map'"));
  EXPECT_THAT(refusal_of_index("{}"), HasSubstr("names no tensor"));
  EXPECT_THAT(refusal_of_index(R"({"a":1})"), HasSubstr("'a' is not a text"));
  EXPECT_THAT(refusal_of_index(R"({"a":"one.safetensors","a":"two.safetensors"})"), HasSubstr("'a' occurs twice"));
  EXPECT_THAT(refusal_of_index(std::string(100, '[')), HasSubstr("nested deeper"));
  EXPECT_THAT(refusal_of_index("{"), HasSubstr("is not a JSON object"));
}

}  // namespace
}  // namespace heed
