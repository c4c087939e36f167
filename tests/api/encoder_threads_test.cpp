#include "heed/encoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "api/random_encoder.h"

namespace heed {
namespace {

using EncoderThreads = RandomEncoderTest;

TEST_F(EncoderThreads, GetTheSameResultsTogetherAsAlone) {
  make(Head::one_label);
  const Encoder encoder(folder_.string(), {.precision = Precision::f32, .threads = 2});
  std::vector<std::string> texts;
  for (size_t i = 0; i < 60; ++i) {
    texts.push_back(std::string(1 + i % 20, static_cast<char>('a' + i % 26)) + " b");
  }
  struct Found {
    std::vector<std::vector<float>> embeddings;
    std::vector<double> probabilities;
  };
  const auto read = [&] {
    Found found{encoder.embed(texts), {}};
    for (const TextLabels& text : encoder.classify(texts)) {
      found.probabilities.push_back(text.scores.front().probability);
    }
    return found;
  };
  std::vector<Found> together(4);
  std::vector<std::thread> threads;
  for (Found& found : together) {
    threads.emplace_back([&] { found = read(); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  const Found alone = read();
  EXPECT_NE(alone.probabilities.front(), alone.probabilities.back());
  for (const Found& found : together) {
    EXPECT_EQ(found.embeddings, alone.embeddings);
    EXPECT_EQ(found.probabilities, alone.probabilities);
  }
}

TEST_F(EncoderThreads, GuessTheSameMasksTogetherAsAlone) {
  make(Head::tokens);
  const Encoder encoder(folder_.string(), {.precision = Precision::f32, .threads = 2});
  std::vector<std::string> texts;
  for (size_t i = 0; i < 40; ++i) {
    texts.push_back(std::string(i % 20, static_cast<char>('a' + i % 26)) + "<mask> b<mask>");
  }
  const auto described = [&](std::span<const std::string> some) {
    std::vector<std::string> found;
    for (const FilledText& filled : encoder.fill(some, {.top = 3})) {
      found.push_back(filled.text);
      for (const std::vector<MaskGuess>& mask : filled.masks) {
        for (const MaskGuess& guess : mask) {
          found.back() += fmt::format("|{} {} {}", guess.token, guess.probability, guess.text);
        }
      }
    }
    return found;
  };
  std::vector<std::vector<std::string>> together(3);
  std::vector<std::thread> threads;
  for (std::vector<std::string>& found : together) {
    threads.emplace_back([&] { found = described(texts); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::string alone = described({&texts[i], 1}).front();
    EXPECT_EQ(std::ranges::count(alone, '|'), 6) << "two masks, three guesses each";
    for (const std::vector<std::string>& found : together) {
      EXPECT_EQ(found.at(i), alone);
    }
  }
  EXPECT_THROW(encoder.fill(texts, {.mask = "[M]"}), ConfigError);
  EXPECT_THROW(encoder.classify(texts), FormatError);
}

}  // namespace
}  // namespace heed
