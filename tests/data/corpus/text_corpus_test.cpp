#include "data/corpus/text_corpus.h"

#include <gmock/gmock.h>

#include "base/random.h"
#include "data/data_testing.h"
#include "text/lines/multiline.h"
#include "text/tokenizer_testing.h"
#include "text/unicode/unicode.h"

namespace heed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Text : public InFolder {
 protected:
  static TextCorpus read(const TextRules& rules, const Tokenizer& tokenizer, const SpillRules& spill = {}) {
    ThreadPool pool(2);
    return read_text_corpus(rules, tokenizer, pool, spill);
  }

  static const Tokenizer& bytes() { return test::trained(TokenizerKind::byte); }

  static std::vector<TokenId> tokens_of(const TextCorpus& corpus, int64_t document) {
    std::vector<int32_t> ids;
    corpus.store().read(document, ids);
    return {ids.begin(), ids.end()};
  }

  // Each document as text, its marks as "<" and ">".
  static std::vector<std::string> documents_of(const TextCorpus& corpus, const Tokenizer& tokenizer) {
    std::vector<std::string> documents;
    for (int64_t d = 0; d < corpus.documents(); ++d) {
      std::vector<TokenId> tokens = tokens_of(corpus, d);
      const bool begins = tokens.front() == tokenizer.special().bos, ends = tokens.back() == tokenizer.special().eos;
      documents.push_back((begins ? "<" : "") + decode_text(tokenizer, tokens) + (ends ? ">" : ""));
    }
    return documents;
  }
  std::vector<std::string> documents_of(TextRules rules) { return documents_of(read(rules, bytes()), bytes()); }

  std::string refusal(const TextRules& rules, const Tokenizer& tokenizer = bytes()) {
    return message_of<Error>([&] { read(rules, tokenizer); });
  }
};

TEST_F(Text, OfAStreamIsRestoredExactly) {
  const std::string first = "one\r\n\n  two \u00e4\nwithout an end", second = "ing\nthree\n\n", third = "four";
  const TextRules rules{.files = {put("a", first), put_gzip("b.gz", second), put("c", third)}};
  for (const TokenizerKind kind : {TokenizerKind::byte, TokenizerKind::bpe, TokenizerKind::unigram}) {
    const Tokenizer& tokenizer = test::trained(kind);
    const TextCorpus corpus = read(rules, tokenizer);
    EXPECT_THAT(documents_of(corpus, tokenizer), ElementsAre(first + second + third));
    EXPECT_EQ(corpus.size().bytes, static_cast<int64_t>((first + second + third).size()));
    EXPECT_EQ(corpus.size().characters, corpus.size().bytes - 1);
  }
}

TEST_F(Text, OfAStreamHasALineBreakTokenForEachLineBreakOfTheText) {
  const TextCorpus corpus = read({.files = {put("a", "a\n\nb\n")}}, bytes());
  const TokenId line_break = line_break_token(bytes()).value();
  const std::vector<TokenId> a = bytes().encode("a"), b = bytes().encode("b");
  EXPECT_THAT(tokens_of(corpus, 0), ElementsAre(a[0], line_break, line_break, b[0], line_break));
}

TEST_F(Text, OfWordsNeedsALineBreakToken) {
  const Tokenizer& words = test::trained(TokenizerKind::word);
  const std::filesystem::path file = put("a", "A man is walking.\nA man is sleeping.\n");
  EXPECT_THAT(refusal({.files = {file}}, words), HasSubstr("tokenizer: word has no token for a line break"));
  EXPECT_EQ(read({.files = {file}, .documents = Documents::lines}, words).documents(), 2);
}

TEST_F(Text, IsSplitIntoLines) {
  EXPECT_THAT(
      documents_of({.files = {put("a", "\none\n \t\ntwo\r\n\n"), put("b", "three")}, .documents = Documents::lines}),
      ElementsAre("<one>", "<two\r>", "<three>"));
}

TEST_F(Text, IsSplitIntoFiles) {
  EXPECT_THAT(documents_of({.files = {put("a", "\none\n\ntwo\n"), put("b", "three")}, .documents = Documents::files}),
              ElementsAre("<\none\n\ntwo\n>", "<three>"));
}

TEST_F(Text, IsSplitAtBlankLines) {
  EXPECT_THAT(documents_of({.files = {put("a", "\n\none\ntwo\n \n\n three\n"), put("b", "four\n\nfive\nsix")},
                            .documents = Documents::blank_lines}),
              ElementsAre("<one\ntwo>", "< three>", "<four>", "<five\nsix>"));
}

TEST_F(Text, IsSplitAtACharacterIntoTwoStreams) {
  const std::string text = "h\u00e4 \n\n\U0001f600x\nzwei\n";
  const std::vector<std::filesystem::path> files{put("a", text.substr(0, 5)), put("b", text.substr(5))};
  const int64_t characters = measure_text({.files = files}).characters;
  EXPECT_EQ(characters, 13);
  for (int64_t cut = 1; cut < characters; ++cut) {
    const TextCorpus left = read({.files = files, .range = {0, cut}}, bytes());
    const TextCorpus right = read({.files = files, .range = {cut, INT64_MAX}}, bytes());
    const std::string first = documents_of(left, bytes()).at(0), second = documents_of(right, bytes()).at(0);
    EXPECT_EQ(first + second, text);
    EXPECT_EQ(static_cast<int64_t>(to_code_points(first).size()), cut);
    EXPECT_EQ(left.size().characters, cut);
    EXPECT_EQ(left.size().bytes, static_cast<int64_t>(first.size()));
    EXPECT_EQ(right.size().bytes, static_cast<int64_t>(second.size()));
  }
}

TEST_F(Text, IsSplitBetweenDocuments) {
  TextRules rules{.files = {put("a", "one\ntwo\n\nthree\n")}};
  const std::vector<std::string> lines{"<one>", "<two>", "<three>"}, paragraphs{"<one\ntwo>", "<three>"};
  for (const auto& [documents, all] : {std::pair{Documents::lines, lines}, {Documents::blank_lines, paragraphs}}) {
    rules.documents = documents;
    const size_t second = documents == Documents::lines ? 4 : 9;
    for (size_t cut = 1; cut < 15; ++cut) {
      size_t in_first = cut <= second ? 1 : 2;
      in_first += documents == Documents::lines && cut > 9 ? 1 : 0;
      rules.range = {0, static_cast<int64_t>(cut)};
      const TextCorpus left = read(rules, bytes());
      EXPECT_EQ(documents_of(left, bytes()), std::vector(all.begin(), all.begin() + static_cast<int64_t>(in_first)));
      rules.range = {static_cast<int64_t>(cut), INT64_MAX};
      if (in_first == all.size()) {
        EXPECT_THAT(refusal(rules), HasSubstr("/a: holds no text"));
        continue;
      }
      const TextCorpus right = read(rules, bytes());
      EXPECT_EQ(documents_of(right, bytes()), std::vector(all.begin() + static_cast<int64_t>(in_first), all.end()));
      EXPECT_EQ(left.size().bytes + right.size().bytes, 15);
    }
  }
}

TEST_F(Text, ThatCannotBeReadIsRefusedWithTheLine) {
  EXPECT_THAT(refusal({.files = {put("a", "x\n"), put("b", "")}}), HasSubstr("/b: the file is empty"));
  EXPECT_THAT(refusal({.files = {put("a", " \n\n")}, .documents = Documents::blank_lines}),
              HasSubstr("/a: holds no text"));
  EXPECT_THAT(refusal({.files = {put("a", "good\nb\xff\n")}}), HasSubstr("/a:2: byte 2 of the line is not UTF-8"));
  EXPECT_THAT(refusal({.files = {put("a", "good\n12345678\n")}, .max_line_bytes = 5}),
              HasSubstr("/a:2: the line is longer than 5 bytes"));
  EXPECT_THAT(refusal({.files = {put("a", "good\n12345"), put("b", "678")}, .max_line_bytes = 5}),
              HasSubstr("/a: its last line, which goes on in the next file, is longer than 5 bytes"));
  EXPECT_THAT(refusal({.files = {folder_ / "none"}}), HasSubstr("none: cannot open"));
}

TEST_F(Text, KnowsTheLineOfEachToken) {
  std::string text;
  std::vector<std::string> where;  // of each byte
  for (int64_t line = 1; line <= 3000; ++line) {
    const auto length = static_cast<size_t>(RandomKey{5}.derive(static_cast<uint64_t>(line)).bits % 9);
    text += std::string(length, 'x') + "\n";
    where.resize(text.size(), fmt::format(":{}", line));
  }
  const std::filesystem::path file = put("a", text);
  const TextCorpus stream = read({.files = {file, put("b", "x\ny\n")}}, bytes());
  for (int64_t token = 0; token < static_cast<int64_t>(text.size()); ++token) {
    ASSERT_EQ(stream.where(token), file.string() + where[static_cast<size_t>(token)]);
  }
  EXPECT_EQ(stream.where(stream.tokens() - 1), (folder_ / "b:2").string());

  const TextCorpus blocks =
      read({.files = {put("c", "one\ntwo\n\n\nthree\nfour\n")}, .documents = Documents::blank_lines}, bytes());
  const auto last_of = [&](int64_t document) { return blocks.where(blocks.store().end(document) - 1); };
  EXPECT_THAT(last_of(0), HasSubstr("c:2"));
  EXPECT_THAT(blocks.where(blocks.store().begin(1)), HasSubstr("c:5"));
  EXPECT_THAT(last_of(1), HasSubstr("c:6"));
}

TEST_F(Text, IsTheSameFromDiskAndFromMemory) {
  std::string text;
  for (int i = 0; i < 2000; ++i) {
    text += fmt::format("line {}\n{}", i, i % 7 == 0 ? "\n" : "");
  }
  const TextRules rules{.files = {put("a", text)}, .documents = Documents::blank_lines};
  const TextCorpus held = read(rules, bytes()),
                   spilled = read(rules, bytes(), {.memory_bytes = 100, .folder = folder_});
  EXPECT_TRUE(spilled.store().spilled());
  EXPECT_EQ(documents_of(held, bytes()), documents_of(spilled, bytes()));
  EXPECT_EQ(held.fingerprint(), spilled.fingerprint());
  EXPECT_EQ(held.where(9000), spilled.where(9000));
}

TEST_F(Text, HasAnotherFingerprintWhenATokenOrABorderChanges) {
  const auto fingerprint = [&](const std::string& text, Documents documents) {
    return read({.files = {put("a", text)}, .documents = documents}, bytes()).fingerprint();
  };
  const uint64_t one = fingerprint("one\ntwo\n", Documents::none);
  EXPECT_EQ(one, fingerprint("one\ntwo\n", Documents::none));
  EXPECT_NE(one, fingerprint("one\ntwp\n", Documents::none));
  EXPECT_NE(one, fingerprint("one\ntwo\n", Documents::lines));
  EXPECT_NE(fingerprint("one\ntwo\n", Documents::lines), fingerprint("onet\nwo\n", Documents::lines));
}

}  // namespace
}  // namespace heed
