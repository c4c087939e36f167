#include "interchange/marian/lexical_shortlist.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "base/errors.h"
#include "base/system/files.h"
#include "interchange/archive/archive_files.h"
#include "test_folder.h"
#include "text/tokenizer_training.h"

namespace heed {
namespace {

using test::Bytes;
using testing::ElementsAre;
using testing::HasSubstr;

class LexicalShortlist : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }

  // Letters are tokens.
  static std::unique_ptr<Tokenizer> letters(const std::string& all) {
    bool done = false;
    return train_tokenizer({.kind = TokenizerKind::character, .user_symbols = {}},
                           [&](std::string& line) { return !std::exchange(done, true) && (line = all, true); });
  }
  int32_t source(std::string_view piece) const { return source_->find(piece)->value; }
  int32_t target(std::string_view piece) const { return target_->find(piece)->value; }
  TranslationTokenizers tokenizers() const { return {*source_, *target_}; }

  // The targets of each source token, one after the other.
  std::string binary(std::vector<uint64_t> ends, const std::vector<uint32_t>& targets, uint64_t frequent = 2) const {
    ends.insert(ends.begin(), 0);
    Bytes body;
    body.add(frequent).add(uint64_t{100}).add(uint64_t{ends.size()}).add(uint64_t{targets.size()});
    for (const uint64_t end : ends) {
      body.add(end);
    }
    for (const uint32_t token : targets) {
      body.add(token);
    }
    uint64_t sum = 0;
    for (size_t at = 0; at + 8 <= body.text.size(); at += 8) {
      uint64_t word = 0;
      std::memcpy(&word, body.text.data() + at, 8);
      sum ^= word + 0x9e3779b9U + (sum << 6U) + (sum >> 2U);
    }
    return Bytes().add(0xF11A48D5013417F5U).add(sum).add(std::string_view(body.text)).text;
  }
  std::vector<uint64_t> ends_after(uint64_t first, uint64_t all) const {
    std::vector<uint64_t> ends(static_cast<size_t>(source_->vocabulary_size()), all);
    ends.front() = first;
    return ends;
  }
  ShortlistTable read_binary(const std::string& bytes) const {
    test::write_bytes(path_, bytes);
    return read_binary_shortlist(path_, tokenizers());
  }
  ShortlistTable read_text(const std::string& lines, ShortlistSizes sizes = {}) const {
    write_file(path_, lines);
    return read_text_shortlist(path_, tokenizers(), sizes);
  }
  template <class Body>
  static std::string message_of(Body&& body) {
    try {
      body();
    } catch (const FormatError& error) {
      return error.what();
    }
    return "";
  }

  std::unique_ptr<Tokenizer> source_ = letters("abcd"), target_ = letters("wxyz");
  std::filesystem::path path_ = test::folder_of_test();
};

TEST_F(LexicalShortlist, ABinaryOneIsATable) {
  const std::string bytes = binary(ends_after(1, 3), {4, 5, 6});
  const ShortlistTable table = read_binary(bytes);
  EXPECT_TRUE(is_binary_shortlist(path_));
  EXPECT_THAT(table.frequent, ElementsAre(0, 1));
  EXPECT_EQ(table.ends.size(), static_cast<size_t>(source_->vocabulary_size()));
  EXPECT_EQ(table.ends.front(), 1);
  EXPECT_EQ(table.ends.back(), 3);
  EXPECT_THAT(table.targets, ElementsAre(4, 5, 6));
  const Shortlist shortlist(table, tokenizers(), "t");  // accepts it
  EXPECT_EQ(read_binary(binary(ends_after(0, 0), {}, UINT64_MAX)).frequent.size(),
            static_cast<size_t>(target_->vocabulary_size()));
}

// heed's vocabularies of Marian's models have a token more: the one that decoding begins with.
TEST_F(LexicalShortlist, ABinaryOneMayLackTheLastToken) {
  std::vector<uint64_t> ends = ends_after(1, 3);
  ends.pop_back();
  const ShortlistTable table = read_binary(binary(ends, {4, 5, 6}));
  EXPECT_EQ(table.ends.size(), static_cast<size_t>(source_->vocabulary_size()));
  EXPECT_EQ(table.ends.back(), 3);
  const Shortlist shortlist(table, tokenizers(), "t");  // accepts it
  ends.pop_back();
  EXPECT_THAT(message_of([&] { read_binary(binary(ends, {4, 5, 6})); }), HasSubstr("is of a source vocabulary of"));
}

TEST_F(LexicalShortlist, BrokenBinaryOnesAreRefused) {
  const auto refusal = [&](const std::string& bytes) { return message_of([&] { read_binary(bytes); }); };
  EXPECT_THAT(refusal(binary(ends_after(2, 1), {4})), HasSubstr("the list of source token 0 ends at 2 of 1"));
  EXPECT_THAT(refusal(binary(ends_after(1, 2), {4, 5, 6})), HasSubstr("its lists end at 2 of 3"));
  EXPECT_THAT(refusal(binary(ends_after(1, 1), {1000})), HasSubstr("has target token 1000, but the vocabulary has"));
  EXPECT_THAT(refusal(binary({1}, {4})), HasSubstr("is of a source vocabulary of 1 tokens"));
  EXPECT_THAT(refusal(binary(ends_after(1, 1), {4}) + "x"), HasSubstr("has 1 bytes more"));
  std::string damaged = binary(ends_after(1, 3), {4, 5, 6, 7});
  damaged = binary(ends_after(1, 4), {4, 5, 6, 7});
  damaged[damaged.size() - 4] = 3;
  EXPECT_THAT(refusal(damaged), HasSubstr("the file was damaged"));
  Bytes absurd;
  absurd.add(0xF11A48D5013417F5U)
      .add(uint64_t{0})
      .add(uint64_t{1})
      .add(uint64_t{1})
      .add(uint64_t{1} << 61)
      .add(uint64_t{1});
  EXPECT_THAT(refusal(absurd.text), HasSubstr("source tokens, but only 0 bytes are left"));
  const std::string whole = binary(ends_after(1, 2), {4, 5});
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(refusal(whole.substr(0, size)), "") << size;
  }
}

TEST_F(LexicalShortlist, AnEmptyFileIsNotABinaryOne) {
  write_file(path_, "");
  EXPECT_FALSE(is_binary_shortlist(path_));
}

TEST_F(LexicalShortlist, OfATextTheLikeliestStay) {
  const std::string lines = "x a 0.2\ny a 0.5\nz a 0.3\nx NULL 0.9\nunknown b 1\nw d 1e-3\n\n";
  const ShortlistTable table = read_text(lines, {.frequent = 1, .best = 2});
  EXPECT_THAT(table.frequent, ElementsAre(0));
  const auto list_of = [&](std::string_view piece) {
    const auto token = static_cast<size_t>(source(piece));
    const int64_t begin = token == 0 ? 0 : table.ends[token - 1];
    return std::vector(table.targets.begin() + begin, table.targets.begin() + table.ends[token]);
  };
  EXPECT_THAT(list_of("a"), ElementsAre(target("y"), target("z")));
  EXPECT_THAT(list_of("b"), ElementsAre());
  EXPECT_THAT(list_of("d"), ElementsAre(target("w")));
}

TEST_F(LexicalShortlist, ATextMayBeCompressed) {
  const gzFile file = gzopen(path_.c_str(), "wb");
  gzputs(file, "x a 0.2\n");
  gzclose(file);
  const ShortlistTable table = read_text_shortlist(path_, tokenizers(), {});
  EXPECT_THAT(table.targets, ElementsAre(target("x")));
  const std::string bytes = read_file(path_);
  write_file(path_, bytes.substr(0, bytes.size() - 9));
  EXPECT_THROW(read_text_shortlist(path_, tokenizers(), {}), FormatError);
}

TEST_F(LexicalShortlist, BrokenLinesAreRefused) {
  EXPECT_THAT(message_of([&] { read_text("x a\n"); }), HasSubstr("line 1 has 2 fields, expected 3"));
  EXPECT_THAT(message_of([&] { read_text("x a 1\nx a b\n"); }), HasSubstr("line 2: 'b' is not a probability"));
  EXPECT_THAT(message_of([&] { read_text("x a -1\n"); }), HasSubstr("'-1' is not a probability"));
  EXPECT_THAT(message_of([&] { read_text(std::string(5000, 'x') + "\n"); }), HasSubstr("line 1 is longer than 4096"));
}

}  // namespace
}  // namespace heed
