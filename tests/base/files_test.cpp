#include "base/system/files.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <thread>

#include "base/errors.h"
#include "test_folder.h"

namespace heed {
namespace {

class Files : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = test::folder_of_test();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  size_t entries() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder_), {}));
  }

  std::filesystem::path folder_;
};

TEST_F(Files, AreReadAsWritten) {
  std::string content(3'000'001, 'x');
  content[2'500'000] = '\0';
  write_file(folder_ / "a", content);
  EXPECT_EQ(read_file(folder_ / "a"), content);
  const MappedFile mapped(folder_ / "a");
  EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(mapped.data()), mapped.size()), content);
  write_file(folder_ / "a", "");
  EXPECT_EQ(read_file(folder_ / "a"), "");
  EXPECT_EQ(MappedFile(folder_ / "a").size(), 0U);
  EXPECT_EQ(entries(), 1U);
}

// Parts that are larger than the buffer are written past it.
TEST_F(Files, HaveTheirPartsInOrderAndMayBeginAnew) {
  const std::string large(5'000'000, 'l');
  AtomicFile file(folder_ / "a");
  for (const std::string_view part : {std::string_view("head"), std::string_view(large), std::string_view("middle")}) {
    file.write(part);
  }
  file.replace_beginning("HE");
  file.write("tail");
  file.commit();
  EXPECT_EQ(read_file(folder_ / "a"), "HEad" + large + "middletail");
}

TEST(PlainName, IsTheNameOfAFileNotAPath) {
  for (const char* const name : {"a", ".a", "a.b", "..a", "ä b"}) {
    EXPECT_TRUE(is_plain_name(name)) << name;
  }
  for (const std::string& name :
       {std::string(), std::string("."), std::string(".."), std::string("a/b"), std::string("/a"), std::string("a/"),
        std::string("a\\b"), std::string("a\0b", 3), std::string(256, 'a')}) {
    EXPECT_FALSE(is_plain_name(name)) << name;
  }
}

TEST_F(Files, WithoutCommitLeaveTheOldContentAndNoTrace) {
  write_file(folder_ / "a", "old");
  {
    AtomicFile file(folder_ / "a");
    file.write("new");
  }
  EXPECT_EQ(read_file(folder_ / "a"), "old");
  EXPECT_EQ(entries(), 1U);
}

TEST_F(Files, ThatCannotBeWrittenAreErrorsWithTheReason) {
  // A limit on the size of files stands in for a full disk.
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit old_limit{};
  getrlimit(RLIMIT_FSIZE, &old_limit);
  const rlimit limit{4096, old_limit.rlim_max};
  setrlimit(RLIMIT_FSIZE, &limit);
  std::string message;
  try {
    write_file(folder_ / "a", std::string(10'000, 'x'));
  } catch (const IoError& error) {
    message = error.what();
  }
  setrlimit(RLIMIT_FSIZE, &old_limit);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(message, (folder_ / "a").string() + ": cannot write: File too large");
  EXPECT_EQ(entries(), 0U);
}

TEST_F(Files, ThatAKilledProcessLeftUnfinishedAreRemovedAndNoOthers) {
  const std::filesystem::path unfinished = folder_ / "model.77.0.partial";
  const std::vector<std::filesystem::path> others{folder_ / "notes.partial", folder_ / "model.77.0.partial.txt"};
  write_file(unfinished, "half");
  for (const std::filesystem::path& other : others) {
    write_file(other, "whole");
  }
  remove_unfinished_files(folder_);
  EXPECT_FALSE(std::filesystem::exists(unfinished));
  for (const std::filesystem::path& other : others) {
    EXPECT_TRUE(std::filesystem::exists(other)) << other;
  }
  remove_unfinished_files(folder_ / "nowhere");
}

TEST_F(Files, KeepTheirPermissions) {
  write_file(folder_ / "a", "old");
  std::filesystem::permissions(folder_ / "a", std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  write_file(folder_ / "a", "new");
  EXPECT_EQ(std::filesystem::status(folder_ / "a").permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

TEST_F(Files, ThatALinkPointsToAreReplaced) {
  write_file(folder_ / "a", "old");
  std::filesystem::create_symlink("a", folder_ / "link");
  write_file(folder_ / "link", "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "link"));
  EXPECT_EQ(read_file(folder_ / "a"), "new");
  std::filesystem::create_symlink("b", folder_ / "dangling");
  write_file(folder_ / "dangling", "made");
  EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "dangling"));
  EXPECT_EQ(read_file(folder_ / "b"), "made");
  std::filesystem::create_symlink("circle", folder_ / "circle");
  EXPECT_THROW(write_file(folder_ / "circle", "x"), IoError);
}

TEST_F(Files, ThatAreDevicesOrPipesAreNotReplaced) {
  write_file("/dev/null", "gone");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  const std::filesystem::path pipe = folder_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::string received;
  std::thread reader([&] { received = read_file(pipe); });
  write_file(pipe, "through");
  reader.join();
  EXPECT_EQ(received, "through");
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  EXPECT_EQ(entries(), 1U);
}

TEST_F(Files, AreRefusedEarlyWhereTheyCannotBeCreated) {
  require_writable(folder_);
  require_writable(folder_ / "new" / "newer");
  write_file(folder_ / "a", "");
  EXPECT_THROW(require_writable(folder_ / "a"), IoError);
  EXPECT_THROW(require_writable(folder_ / "a" / "below"), IoError);
}

TEST_F(Files, AFolderIsLockedByOneProcessAtATime) {
  {
    const FolderLock lock(folder_, "is in use");
    try {
      const FolderLock another(folder_, "is in use");
      FAIL() << "locked twice";
    } catch (const IoError& error) {
      EXPECT_EQ(std::string(error.what()), folder_.string() + ": is in use");
    }
  }
  const FolderLock again(folder_, "is in use");
}

TEST_F(Files, ThatAreLargerThanAGibibyteAreNotReadAsAWhole) {
  write_file(folder_ / "large", "");
  std::filesystem::resize_file(folder_ / "large", (uintmax_t{1} << 30) + 1);  // holds no blocks on the disk
  EXPECT_THROW(read_file(folder_ / "large"), FormatError);
}

TEST_F(Files, ThatDoNotExistAreErrors) {
  EXPECT_THROW(read_file(folder_ / "none"), IoError);
  EXPECT_THROW(MappedFile(folder_ / "none"), IoError);
  EXPECT_THROW(MappedFile{folder_}, IoError);
  EXPECT_THROW(write_file(folder_ / "none" / "a", "x"), IoError);
}

TEST_F(Files, AFolderIsWritableWhenSomethingCanBeCreatedInIt) {
  require_writable(folder_ / "new" / "newer");
  EXPECT_EQ(entries(), 0U);
  write_file(folder_ / "file", "");
  EXPECT_THROW(require_writable(folder_ / "file"), IoError);
  EXPECT_THROW(require_writable("/proc/nowhere"), IoError);
}

TEST_F(Files, RefusesToOverwriteAnInputFile) {
  write_file(folder_ / "a", "");
  std::filesystem::create_symlink(folder_ / "a", folder_ / "link");
  const std::string a = folder_ / "a", link = folder_ / "link";
  EXPECT_THROW(require_other_file(a, {"-", a}), ConfigError);
  EXPECT_THROW(require_other_file(link, {a}), ConfigError);
  require_other_file(folder_ / "b", {a, "", "-"});
  require_other_file("/dev/null", {"/dev/null"});
}

}  // namespace
}  // namespace heed
