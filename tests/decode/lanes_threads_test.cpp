#include <gtest/gtest.h>

#include "decode/translator_testing.h"

namespace heed::test {
namespace {

// Batches of lines of several lengths, so that one lane asks for more positions while others read them.
TEST(Lanes, TranslateAndScoreSideBySide) {
  const RandomTranslator t;
  std::vector<std::string> lines;
  for (size_t i = 0; i < 260; ++i) {
    lines.push_back(corpus()[i % 2].substr(0, 1 + i % 13));
  }
  const auto name = [](size_t i) { return std::to_string(i); };
  const auto all = translate_lines(*t.translator, lines, {.max_length = 5, .never = {}}, name);
  const auto scores = score_lines(*t.translator, lines, lines, {name, name});
  for (size_t i = 0; i < lines.size(); i += 41) {
    const auto alone = translate_lines(*t.translator, {{lines[i]}}, {.max_length = 5, .never = {}}, name);
    EXPECT_EQ(all[i][0].text, alone[0][0].text);
    EXPECT_EQ(scores[i].log_probability,
              score_lines(*t.translator, {{lines[i]}}, {{lines[i]}}, {name, name})[0].log_probability);
  }
}

}  // namespace
}  // namespace heed::test
