#include "interchange/archive/zip_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.h"
#include "zip_bytes.h"

namespace heed {
namespace {

using test::ZipBytes;
using testing::HasSubstr;

std::string refusal_of_zip(const std::string& bytes) {
  try {
    read_zip(test::as_span(bytes), "a.zip");
  } catch (const FormatError& error) {
    return error.what();
  }
  return "";
}

TEST(ZipFile, EntriesLieInTheFile) {
  const std::string bytes = ZipBytes{.parts = {{"a/b", "first"}, {"c", ""}}}.all() + "";
  const std::vector<ZipEntry> entries = read_zip(test::as_span(bytes), "a.zip");
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].name, "a/b");
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(entries[0].bytes.data()), entries[0].bytes.size()), "first");
  EXPECT_TRUE(entries[1].bytes.empty());
  EXPECT_TRUE(is_zip(test::as_span(bytes)));
}

// A bomb is small because it is compressed.
TEST(ZipFile, CompressedAndEncryptedEntriesAreRefused) {
  EXPECT_THAT(refusal_of_zip(ZipBytes{.parts = {{"a", "x", 8}}}.all()), HasSubstr("the entry a is compressed"));
  EXPECT_THAT(refusal_of_zip(ZipBytes{.parts = {{"a", "x", 0, 1}}}.all()), HasSubstr("the entry a is encrypted"));
}

// The other form of bomb: many entries that share the same bytes.
TEST(ZipFile, OverlappingEntriesAreRefused) {
  const std::string inner = ZipBytes{.parts = {{"b", "data"}}}.all();
  const auto offset = static_cast<uint32_t>(30 + 1);  // of the header within the first entry's content
  EXPECT_THAT(refusal_of_zip(ZipBytes{.parts = {{"a", inner}, {"b", "data", 0, 0, {}, offset}}}.all()),
              HasSubstr("the entries a and b overlap"));
}

TEST(ZipFile, NamesThatOccurTwiceAreRefused) {
  EXPECT_THAT(refusal_of_zip(ZipBytes{.parts = {{"a", "x"}, {"a", "y"}}}.all()), HasSubstr("the entry a occurs twice"));
}

TEST(ZipFile, DirectoriesThatLieAreRefused) {
  EXPECT_THAT(refusal_of_zip(ZipBytes{.parts = {{"a", "x", 0, 0, 1000}}}.all()), HasSubstr("the entry a takes 1000"));
  EXPECT_THAT(refusal_of_zip(ZipBytes{.parts = {{"a", "x", 0, 0, {}, 5}}}.all()),
              HasSubstr("does not begin at byte 5"));
  EXPECT_THAT(refusal_of_zip(ZipBytes{.parts = {{"a", "x", 0, 0, {}, 5000}}}.all()), HasSubstr("the entry a is at"));
  EXPECT_THAT(refusal_of_zip(ZipBytes{.parts = {{"a", "x", 0, 0, {}, {}, "b"}}}.all()), HasSubstr("has another name"));
  EXPECT_THAT(refusal_of_zip(ZipBytes{.parts = {{"a", "x"}}, .count = 60000}.all()), HasSubstr("60000 entries"));
  EXPECT_THAT(refusal_of_zip(ZipBytes{.parts = {{"a", "x"}}, .count = 2}.all()), HasSubstr("directory"));
  EXPECT_THAT(refusal_of_zip(ZipBytes{.parts = {{"a", "x"}}, .directory = 90000}.all()), HasSubstr("directory is at"));
  EXPECT_THAT(refusal_of_zip(ZipBytes{.parts = {{"a", "x"}}, .directory = 0}.all()), HasSubstr("directory is broken"));
  EXPECT_THAT(refusal_of_zip(ZipBytes{.parts = {{"a", "x"}}, .disk = 1}.all()), HasSubstr("one part of a ZIP file"));
}

TEST(ZipFile, EveryTruncationIsRefused) {
  const std::string whole = ZipBytes{.parts = {{"a", "first"}, {"b", "second"}}}.all();
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(refusal_of_zip(whole.substr(0, size)), "") << size;
  }
  EXPECT_EQ(refusal_of_zip(whole), "");
}

}  // namespace
}  // namespace heed
