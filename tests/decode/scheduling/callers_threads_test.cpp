#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "decode/language_model_testing.h"
#include "decode/translator_testing.h"

namespace heed::test {
namespace {

// Batches of lines of several lengths, so that one lane asks for more positions while others read them.
TEST(Callers, TranslateAndScoreAtTheSameTime) {
  const RandomTranslator t;
  std::vector<std::string> lines;
  for (size_t i = 0; i < 260; ++i) {
    lines.push_back(corpus()[i % 2].substr(0, 1 + i % 13));
  }
  const auto name = [](size_t i) { return std::to_string(i); };
  const auto all = translate_lines(*t.translator, lines, {.max_length = 5}, name);
  const auto scores = score_lines(*t.translator, {lines, lines}, {name, name});
  for (size_t i = 0; i < lines.size(); i += 41) {
    const auto alone = translate_lines(*t.translator, {{lines[i]}}, {.max_length = 5}, name);
    EXPECT_EQ(all[i][0].translation.text, alone[0][0].translation.text);
    EXPECT_EQ(scores[i].log_probability,
              score_lines(*t.translator, {std::span(&lines[i], 1), std::span(&lines[i], 1)}, {name, name})[0]
                  .log_probability);
  }
}

TEST(Callers, SeveralThreadsTranslateAtOnce) {
  const RandomTranslator t;
  const auto translate = [&](size_t thread) {
    std::vector<std::string> lines;
    for (size_t i = 0; i < (thread == 0 ? 1U : 70U); ++i) {
      lines.push_back(corpus()[(i + thread) % 2].substr(0, 1 + (i + thread) % 13));
    }
    return t.translate(lines, {.max_length = 5});
  };
  std::vector<std::vector<std::vector<TranslatedLine>>> together(4);
  std::vector<std::thread> threads;
  for (size_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] { together[thread] = translate(thread); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (size_t thread = 0; thread < 4; ++thread) {
    const auto alone = translate(thread);
    for (size_t i = 0; i < alone.size(); ++i) {
      EXPECT_EQ(together[thread][i][0].translation.text, alone[i][0].translation.text);
    }
  }
}

TEST(Callers, SeveralThreadsGenerateAtOnce) {
  RandomLanguageModel m;
  const GenerationOptions options{.samples = 2, .max_tokens = 6};
  const std::vector<std::string> prompts{"two", "a man", "ein Hund"};
  const auto alone = m.generate(prompts, options);
  std::vector<std::thread> threads;
  std::atomic<int> same{0};
  for (size_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      const auto found = m.generate(prompts, options);
      for (size_t i = 0; i < prompts.size(); ++i) {
        same += found[i][0].text == alone[i][0].text && found[i][1].text == alone[i][1].text ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(same, 12);
}

}  // namespace
}  // namespace heed::test
