#include "decode/texts/translation/translation_news.h"

#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "decode/drafts/speculation.h"
#include "decode/translator_testing.h"

namespace heed::test {
namespace {

// What a listener receives.
struct HeardLines : TranslationListener {
  struct Line {
    std::vector<ScoredToken> tokens;
    std::vector<std::string> pieces;
    std::vector<Translation> translations;

    std::string text() const {
      std::string all;
      for (const std::string& piece : pieces) {
        all += piece;
      }
      return all;
    }
  };

  void on_token(size_t line, const ScoredToken& token) override { heard(line).tokens.push_back(token); }
  void on_piece(size_t line, std::string_view piece) override { heard(line).pieces.emplace_back(piece); }
  void on_translations(size_t line, std::span<const Translation> translations) override {
    heard(line).translations.assign(translations.begin(), translations.end());
    EXPECT_FALSE(translations.empty());
    order.push_back(line);
  }

  Line& heard(size_t line) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    EXPECT_TRUE(lines[line].translations.empty()) << "something came after the translations";
    return lines[line];
  }

  std::thread::id caller = std::this_thread::get_id();
  std::map<size_t, Line> lines;
  std::vector<size_t> order;
};

std::vector<std::string> many_lines() {
  std::vector<std::string> lines{""};
  for (size_t i = 0; i < 90; ++i) {
    lines.push_back(corpus()[i % 2].substr(0, 1 + i % 11));
  }
  return lines;
}

std::vector<std::vector<TranslatedLine>> told(const RandomTranslator& t, const std::vector<std::string>& lines,
                                              const TranslationOptions& options, TranslationListener& listener) {
  return translate_lines(*t.translator, lines, options, {}, TooLong::refuse, &listener);
}

void expect_equal(const Translation& a, const Translation& b) {
  EXPECT_EQ(a.text, b.text);
  EXPECT_EQ(a.score, b.score);
  EXPECT_EQ(a.log_probability, b.log_probability);
  EXPECT_EQ(a.tokens, b.tokens);
  ASSERT_EQ(a.alignment.size(), b.alignment.size());
  for (size_t i = 0; i < a.alignment.size(); ++i) {
    EXPECT_EQ(a.alignment[i].source, b.alignment[i].source);
  }
  ASSERT_EQ(a.each.size(), b.each.size());
  for (size_t i = 0; i < a.each.size(); ++i) {
    EXPECT_EQ(a.each[i].id, b.each[i].id);
    EXPECT_EQ(a.each[i].log_probability, b.each[i].log_probability);
  }
}

// What the call returns is what it returns without a listener, and what the listener has heard.
void expect_the_same(const RandomTranslator& t, const TranslationOptions& options) {
  const std::vector<std::string> lines = many_lines();
  const auto plain = t.translate(lines, options);
  HeardLines heard;
  const auto found = told(t, lines, options, heard);
  ASSERT_EQ(heard.order.size(), lines.size());
  for (size_t i = 0; i < lines.size(); ++i) {
    const HeardLines::Line& line = heard.lines[i];
    ASSERT_EQ(found[i].size(), plain[i].size());
    ASSERT_EQ(line.translations.size(), plain[i].size());
    for (size_t k = 0; k < plain[i].size(); ++k) {
      expect_equal(found[i][k].translation, plain[i][k].translation);
      expect_equal(line.translations[k], plain[i][k].translation);
    }
    EXPECT_EQ(line.text(), plain[i][0].translation.text);
    ASSERT_EQ(line.tokens.size(), plain[i][0].translation.each.size());
    for (size_t k = 0; k < line.tokens.size(); ++k) {
      EXPECT_EQ(line.tokens[k].id, plain[i][0].translation.each[k].id);
      EXPECT_EQ(line.tokens[k].text_offset, plain[i][0].translation.each[k].text_offset);
      EXPECT_EQ(line.tokens[k].likeliest.size(), static_cast<size_t>(options.likeliest));
    }
  }
}

TEST(TranslationNews, AListenerHearsWhatIsReturned) {
  const RandomTranslator t;
  expect_the_same(t, {.max_length = 9});
  expect_the_same(t, {.max_length = 9, .each = EachToken::listed, .likeliest = 3});
  expect_the_same(t, {.max_length = 9, .alignments = Alignments::pieces, .each = EachToken::listed});
  expect_the_same(t, {.beam = 3, .n_best = 2, .max_length = 9, .each = EachToken::listed, .likeliest = 2});
  expect_the_same(t, {.beam = 3, .n_best = 2, .max_length = 9, .coverage_penalty = 0.5});
  expect_the_same(t, {.max_length = 9, .unknown = UnknownWords::copy});
  expect_the_same(t, {.max_length = 9, .alternatives = 3});
}

TEST(TranslationNews, TokensComeOneByOneBeforeTheirPieces) {
  const RandomTranslator t;
  struct InOrder : HeardLines {
    void on_piece(size_t line, std::string_view piece) override {
      HeardLines::on_piece(line, piece);
      longest = std::max(longest, piece.size());
      const ScoredToken& token = lines[line].tokens.back();
      EXPECT_EQ(token.bytes, std::string(piece));
      EXPECT_EQ(static_cast<size_t>(token.text_offset) + piece.size(), lines[line].text().size());
    }
    size_t longest = 0;
  };
  InOrder heard;
  const auto found = told(t, {"two dogs play"}, {.max_length = 20, .each = EachToken::listed}, heard);
  // Each character is a token.
  EXPECT_GT(heard.lines[0].pieces.size(), 5U);
  EXPECT_LE(heard.longest, 2U);
  EXPECT_EQ(heard.lines[0].text(), found[0][0].translation.text);
}

TEST(TranslationNews, APrefixIsInTheFirstPiece) {
  const RandomTranslator t;
  HeardLines heard;
  const auto found = told(t, {"two dogs"}, {.max_length = 12, .prefixes = {"ein H"}, .each = EachToken::listed}, heard);
  EXPECT_TRUE(heard.lines[0].pieces.front().starts_with("ein H"));
  EXPECT_EQ(heard.lines[0].text(), found[0][0].translation.text);
  EXPECT_EQ(heard.lines[0].tokens.size(), found[0][0].translation.each.size());
}

TEST(TranslationNews, LinesAreReadyBeforeTheLastOneIs) {
  const RandomTranslator t;
  struct Stops : HeardLines {
    void on_translations(size_t line, std::span<const Translation> translations) override {
      HeardLines::on_translations(line, translations);
      stop.request_stop();
    }
    std::stop_source stop;
  };
  for (const Alignments alignments : {Alignments::none, Alignments::pieces}) {
    Stops heard;
    // So many that a busy machine does not translate them all before the listener's thread has its turn.
    const std::vector<std::string> lines(4000, "two");
    TranslationOptions options{.max_length = 30, .alignments = alignments};
    options.rules.min_length = 20;
    options.interruption.stop = heard.stop.get_token();
    EXPECT_THROW(told(t, lines, options, heard), InterruptedError);
    EXPECT_GE(heard.order.size(), 1U);
    EXPECT_LT(heard.order.size(), lines.size());
  }
}

TEST(TranslationNews, WhatAListenerThrowsEndsTheCall) {
  const RandomTranslator t;
  struct Fails : TranslationListener {
    void on_piece(size_t /*line*/, std::string_view /*piece*/) override { throw std::runtime_error("enough"); }
  };
  Fails fails;
  EXPECT_THROW(told(t, many_lines(), {.max_length = 9}, fails), std::runtime_error);
  // The translator works as before.
  EXPECT_EQ(t.translate({"two"}, {.max_length = 4}).size(), 1U);
}

TEST(TranslationNews, LinesAreRefusedBeforeAnythingIsHeard) {
  const RandomTranslator t;
  HeardLines heard;
  EXPECT_THROW(told(t, {"two", std::string(100, 'a')}, {}, heard), FormatError);
  EXPECT_TRUE(heard.lines.empty());
  EXPECT_TRUE(told(t, {}, {}, heard).empty());
}

}  // namespace
}  // namespace heed::test
