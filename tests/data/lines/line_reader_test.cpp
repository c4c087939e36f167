#include "data/lines/line_reader.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/random.h"
#include "data/data_testing.h"

namespace heed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Lines : public InFolder {
 protected:
  static std::vector<std::string> lines_of(const std::filesystem::path& path, LineRules rules = {}) {
    LineReader reader(path, rules);
    std::vector<std::string> lines;
    for (std::string line; reader.next(line);) {
      lines.push_back(line);
      EXPECT_EQ(reader.line_number(), static_cast<int64_t>(lines.size()));
    }
    std::string line;
    EXPECT_FALSE(reader.next(line));
    return lines;
  }

  // What reading the file is refused with, without the folder.
  std::string refusal(const std::filesystem::path& path, LineRules rules = {}) const {
    const std::string message = message_of<FormatError>([&] { lines_of(path, rules); });
    const std::string prefix = folder_.string() + "/";
    EXPECT_TRUE(message.empty() || message.starts_with(prefix)) << message;
    return message.empty() ? "" : message.substr(prefix.size());
  }
};

TEST_F(Lines, EndWithANewlineOrTheFile) {
  EXPECT_THAT(lines_of(put("a", "")), IsEmpty());
  EXPECT_THAT(lines_of(put("a", "\n")), ElementsAre(""));
  EXPECT_THAT(lines_of(put("a", "one\n\ntwo\n")), ElementsAre("one", "", "two"));
  EXPECT_THAT(lines_of(put("a", "one\ntwo")), ElementsAre("one", "two"));
}

TEST_F(Lines, EndWithACarriageReturnAndNewlineToo) {
  EXPECT_THAT(lines_of(put("a", "one\r\n\r\ntwo\r")), ElementsAre("one", "", "two"));
  EXPECT_THAT(lines_of(put("a", "a\rb\r\r\n")), ElementsAre("a\rb\r"));
}

TEST_F(Lines, KeepCarriageReturnsWhereTheyAreText) {
  EXPECT_THAT(lines_of(put("a", "one\r\n\r\ntwo\r"), {.carriage_returns = CarriageReturns::keep}),
              ElementsAre("one\r", "\r", "two\r"));
}

TEST_F(Lines, AreReadyWhenTheirEndHasArrived) {
  const std::filesystem::path path = folder_ / "pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const int pipe = open(path.c_str(), O_RDWR | O_CLOEXEC);
  const auto write = [&](std::string_view text) {
    EXPECT_EQ(::write(pipe, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  };
  write("one\ntw");
  LineReader reader(path);
  std::string line;
  EXPECT_TRUE(reader.is_ready());
  ASSERT_TRUE(reader.next(line));
  EXPECT_EQ(line, "one");
  EXPECT_FALSE(reader.is_ready()) << "half a line";
  write("o\nthr");
  EXPECT_TRUE(reader.is_ready());
  ASSERT_TRUE(reader.next(line));
  EXPECT_EQ(line, "two");
  EXPECT_FALSE(reader.is_ready());
  close(pipe);
  EXPECT_TRUE(reader.is_ready()) << "the end has come";
  ASSERT_TRUE(reader.next(line));
  EXPECT_EQ(line, "thr");
  EXPECT_TRUE(reader.is_ready());
  EXPECT_FALSE(reader.next(line));
}

TEST_F(Lines, AreDistinguishedFromALastLineWithoutALineBreak) {
  LineReader reader(put("a", "one\ntwo"));
  std::string line;
  ASSERT_TRUE(reader.next(line));
  EXPECT_TRUE(reader.broken());
  ASSERT_TRUE(reader.next(line));
  EXPECT_FALSE(reader.broken());
}

TEST_F(Lines, DoNotEndWithOtherSeparators) {
  const std::string line = "a\v\f\x1c\xc2\x85\xe2\x80\xa8\xe2\x80\xa9z";
  EXPECT_THAT(lines_of(put("a", line + "\n")), ElementsAre(line));
}

TEST_F(Lines, StartAfterAByteOrderMark) {
  EXPECT_THAT(lines_of(put("a", "\xef\xbb\xbfone\n\xef\xbb\xbftwo\n")), ElementsAre("one", "\xef\xbb\xbftwo"));
  EXPECT_THAT(lines_of(put("a", "\xef\xbb\xbf")), IsEmpty());
  EXPECT_THAT(lines_of(put_gzip("a", "\xef\xbb\xbfone")), ElementsAre("one"));
}

TEST_F(Lines, OfAnyLengthMayCrossBuffers) {
  std::vector<std::string> lines;
  std::string content;
  for (const size_t size : {65535U, 65536U, 65537U, 1U, 0U, 200000U, 131071U}) {
    lines.emplace_back(size, static_cast<char>('a' + lines.size()));
    content += lines.back() + "\n";
  }
  EXPECT_EQ(lines_of(put("a", content)), lines);
  EXPECT_EQ(lines_of(put_gzip("a", content)), lines);
}

TEST_F(Lines, OfCompressedFilesAreRecognizedByContent) {
  EXPECT_THAT(lines_of(put_gzip("plain.txt", "one\ntwo\n")), ElementsAre("one", "two"));
  EXPECT_THAT(lines_of(put("packed.gz", "one\n")), ElementsAre("one"));
  EXPECT_THAT(lines_of(put_gzip("a", "")), IsEmpty());
}

TEST_F(Lines, OfConcatenatedMembersAreOneText) {
  EXPECT_THAT(lines_of(put("a", gzip("one\nt") + gzip("") + gzip("wo\nthree"))), ElementsAre("one", "two", "three"));
  std::string many;
  for (int i = 0; i < 5000; ++i) {
    many += gzip(std::to_string(i) + "\n");
  }
  const auto lines = lines_of(put("a", many));
  ASSERT_EQ(lines.size(), 5000U);
  EXPECT_EQ(lines[4999], "4999");
}

TEST_F(Lines, OfDamagedCompressedFilesAreRefused) {
  const RandomKey key{1};
  std::string content;
  for (uint64_t i = 0; i < 30000; ++i) {
    content += fmt::format("{}\n", key.derive(i).bits);
  }
  const std::string packed = gzip(content);
  ASSERT_GT(packed.size(), 200'000U);
  for (const size_t size : {size_t{2}, size_t{9}, size_t{65536}, packed.size() / 2, packed.size() - 1}) {
    EXPECT_EQ(refusal(put("a", packed.substr(0, size))), "a: the compressed data end early") << size;
  }
  EXPECT_EQ(refusal(put("a", packed + "x")), "a: the compressed data end early");
  EXPECT_THAT(refusal(put("a", packed + "some rest")), HasSubstr("a: the compressed data are damaged: "));
  std::string wrong_sum = packed;
  wrong_sum[packed.size() - 6] = static_cast<char>(wrong_sum[packed.size() - 6] ^ 1);
  EXPECT_EQ(refusal(put("a", wrong_sum)), "a: the compressed data are damaged: incorrect data check");
}

TEST_F(Lines, OfFilesDamagedAnywhereNeverCrash) {
  const std::string packed = gzip("one\ntwo\nthree\n" + std::string(3000, 'x') + "\n\xc3\xbc\n");
  const RandomKey key{7};
  int refused = 0;
  for (uint64_t round = 0; round < 500; ++round) {
    std::string content = packed;
    content[key.derive(2 * round).bits % content.size()] = static_cast<char>(key.derive(2 * round + 1).bits);
    refused += refusal(put("a", content), {.max_bytes = 5000}).empty() ? 0 : 1;
  }
  EXPECT_GT(refused, 250);
}

TEST_F(Lines, ThatAreNotUtf8AreRefusedWithTheirNumber) {
  EXPECT_EQ(refusal(put("a", "one\ntwo\xff\n")), "a:2: byte 4 of the line is not UTF-8");
  EXPECT_EQ(refusal(put("a", "\xc3")), "a:1: byte 1 of the line is not UTF-8");
  EXPECT_EQ(refusal(put_gzip("a", "one\n\n\xed\xa0\x80")), "a:3: byte 1 of the line is not UTF-8");
  EXPECT_EQ(refusal(put("a", "\xff\xfeo\0n\0"), {}), "a:1: byte 1 of the line is not UTF-8");
}

TEST_F(Lines, WithNulAreRefusedWithTheirNumber) {
  EXPECT_EQ(refusal(put("a", std::string_view("one\no\0n", 7))),
            "a:2: byte 2 of the line is NUL; is the file UTF-16, or not text?");
}

TEST_F(Lines, LongerThanTheLimitAreRefusedOrMarked) {
  EXPECT_THAT(lines_of(put("a", "12345\r\n\xef\xbb\xbf\n12345"), {.max_bytes = 5}),
              ElementsAre("12345", "\xef\xbb\xbf", "12345"));
  EXPECT_THAT(lines_of(put("a",
                           "\xef\xbb\xbf"
                           "12345\r\n"),
                       {.max_bytes = 5}),
              ElementsAre("12345"));
  EXPECT_EQ(refusal(put("a", "1\n123456\n"), {.max_bytes = 5}), "a:2: the line is longer than 5 bytes");
  EXPECT_EQ(refusal(put("a", std::string(1 << 21, 'x'))), "a:1: the line is longer than 1048576 bytes");

  LineReader reader(put("a", "1\n123456\n" + std::string(300'000, '\r') + "\n2\n"),
                    {.max_bytes = 5, .long_lines = LongLines::mark});
  std::string line;
  std::vector<std::string> lines;
  std::vector<int64_t> marked;
  while (reader.next(line)) {
    lines.push_back(line);
    if (reader.marked()) {
      marked.push_back(reader.line_number());
    }
  }
  EXPECT_THAT(lines, ElementsAre("1", "", "", "2"));
  EXPECT_THAT(marked, ElementsAre(2, 3));
}

TEST_F(Lines, LongerThanTheLimitTakeNoMemory) {
  const std::string member = gzip(std::string(10 << 20, 'x'));
  std::string packed;
  for (int i = 0; i < 5; ++i) {
    packed += member;
  }
  LineReader reader(put("a", packed + gzip("\nend")), {.max_bytes = 1000, .long_lines = LongLines::mark});
  std::string line;
  ASSERT_TRUE(reader.next(line));
  EXPECT_TRUE(reader.marked());
  EXPECT_LT(line.capacity(), 10'000U);
  ASSERT_TRUE(reader.next(line));
  EXPECT_EQ(line, "end");
}

TEST_F(Lines, WithoutEndAreRefusedEarly) {
  LineReader reader("/dev/zero");
  std::string line;
  EXPECT_THROW(reader.next(line), FormatError);
}

TEST_F(Lines, OfUnreadableFilesAreErrorsWithTheReason) {
  EXPECT_EQ(message_of<IoError>([&] { LineReader{folder_ / "none"}; }),
            (folder_ / "none").string() + ": cannot open: No such file or directory");
  EXPECT_EQ(message_of<IoError>([&] { LineReader{folder_}; }), folder_.string() + ": cannot read: Is a directory");
  EXPECT_THROW(LineReader(put("a", ""), {.max_bytes = 0}), ConfigError);
}

}  // namespace
}  // namespace heed
