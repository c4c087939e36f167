// Random shortlists and lines for tests of translation among candidates.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "decode/translator_testing.h"

namespace heed::test {

inline std::vector<int32_t> random_ids(size_t count, int64_t below, uint64_t seed) {
  std::vector<int32_t> ids;
  for (size_t i = 0; i < count; ++i) {
    ids.push_back(static_cast<int32_t>(uniform_draw(RandomKey{seed}, i) * static_cast<double>(below)));
  }
  return ids;
}

// Four random targets for each source token.
inline Shortlist random_shortlist(const Tokenizer& tokenizer, uint64_t seed) {
  const int64_t vocabulary = tokenizer.vocabulary_size();
  ShortlistTable table{
      .frequent = {7, 8}, .ends = {}, .targets = random_ids(4 * static_cast<size_t>(vocabulary), vocabulary, seed)};
  for (int64_t token = 1; token <= vocabulary; ++token) {
    table.ends.push_back(4 * token);
  }
  return {std::move(table), {tokenizer, tokenizer}, "test"};
}

inline void expect_same_translations(const std::vector<TranslatedLine>& found,
                                     const std::vector<TranslatedLine>& expected, const std::string& line) {
  ASSERT_EQ(found.size(), expected.size()) << line;
  for (size_t h = 0; h < expected.size(); ++h) {
    EXPECT_EQ(found[h].ids, expected[h].ids) << line;
    EXPECT_EQ(found[h].translation.score, expected[h].translation.score) << line;
    ASSERT_EQ(found[h].translation.each.size(), expected[h].translation.each.size());
    for (size_t i = 0; i < expected[h].translation.each.size(); ++i) {
      EXPECT_EQ(found[h].translation.each[i].log_probability, expected[h].translation.each[i].log_probability);
    }
  }
}

// Lines of many lengths, some of them empty.
inline std::vector<std::string> lines_of(size_t count) {
  std::vector<std::string> lines;
  for (size_t i = 0; i < count; ++i) {
    const std::string& line = corpus()[i % corpus().size()];
    lines.push_back(i % 11 == 10 ? "" : line.substr(i % 3, 1 + (i * 7) % 17));
  }
  for (std::string& line : lines) {  // cut within a character
    while (!line.empty() && (static_cast<unsigned char>(line.front()) & 0xC0U) == 0x80U) {
      line.erase(0, 1);
    }
    while (!line.empty() && static_cast<unsigned char>(line.back()) >= 0x80U) {
      line.pop_back();
    }
  }
  return lines;
}

}  // namespace heed::test
