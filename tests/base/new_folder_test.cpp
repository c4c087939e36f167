#include "base/system/new_folder.h"

#include <gtest/gtest.h>

#include "base/errors.h"
#include "base/system/files.h"
#include "test_folder.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

class NewFolderTest : public testing::Test {
 protected:
  NewFolderTest() { fs::create_directories(path_); }
  ~NewFolderTest() override { fs::remove_all(path_); }

  const fs::path path_ = test::folder_of_test();
};

TEST_F(NewFolderTest, FoldersThatItCreatedGoWithWhatTheyHold) {
  {
    const NewFolder folder(path_ / "outer" / "inner" / "");
    write_file(path_ / "outer" / "inner" / "file", "text");
    fs::create_directories(path_ / "outer" / "inner" / "more" / "still");
  }
  EXPECT_TRUE(fs::is_empty(path_));
}

TEST_F(NewFolderTest, KeptFoldersStay) {
  {
    NewFolder folder(path_ / "outer" / "inner");
    write_file(path_ / "outer" / "inner" / "file", "text");
    folder.keep();
  }
  EXPECT_TRUE(fs::exists(path_ / "outer" / "inner" / "file"));
}

TEST_F(NewFolderTest, WhatWasThereBeforeStays) {
  write_file(path_ / "before", "text");
  {
    const NewFolder folder(path_);
    write_file(path_ / "after", "text");
    write_file(path_ / "before", "other text");
  }
  EXPECT_TRUE(fs::exists(path_ / "before"));
  EXPECT_FALSE(fs::exists(path_ / "after"));
}

TEST_F(NewFolderTest, WhatCameBetweenMakingTheFolderAndTheObjectStays) {
  {
    MadeFolders made = make_folders(path_ / "outer" / "inner");
    write_file(path_ / "outer" / "inner" / "of another", "text");
    const NewFolder folder(path_ / "outer" / "inner", std::move(made));
    write_file(path_ / "outer" / "inner" / "own", "text");
  }
  EXPECT_TRUE(fs::exists(path_ / "outer" / "inner" / "of another"));
  EXPECT_FALSE(fs::exists(path_ / "outer" / "inner" / "own"));
}

TEST_F(NewFolderTest, AParentInWhichAnotherProgramWroteStays) {
  {
    const NewFolder folder(path_ / "outer" / "inner");
    write_file(path_ / "outer" / "file", "text");
  }
  EXPECT_TRUE(fs::exists(path_ / "outer" / "file"));
  EXPECT_FALSE(fs::exists(path_ / "outer" / "inner"));
}

TEST_F(NewFolderTest, AFileInTheWayIsRefusedAndNothingStays) {
  write_file(path_ / "file", "text");
  EXPECT_THROW(NewFolder(path_ / "file"), IoError);
  EXPECT_THROW(NewFolder(path_ / "file" / "inner"), IoError);
  EXPECT_EQ(std::distance(fs::directory_iterator(path_), fs::directory_iterator()), 1);
}

}  // namespace
}  // namespace heed
