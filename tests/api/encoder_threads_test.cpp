#include "heed/encoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>
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

TEST_F(EncoderThreads, TellOfEachTextOnceAndOneAtATime) {
  make(Head::one_label);
  const Encoder encoder(folder_.string(), {.precision = Precision::f32, .threads = 2});
  std::vector<std::string> texts;
  for (size_t i = 0; i < 300; ++i) {
    texts.push_back(std::string(1 + i % 20, static_cast<char>('a' + i % 26)));
  }
  std::vector<int> told(texts.size());
  std::vector<double> probabilities(texts.size());
  std::atomic<int> telling = 0;
  const auto found = encoder.classify(texts, {}, {}, [&](size_t text, const TextLabels& labels) {
    EXPECT_EQ(telling.fetch_add(1), 0);
    ++told.at(text);
    probabilities.at(text) = labels.scores.front().probability;
    telling.fetch_sub(1);
  });
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(told[i], 1) << i;
    EXPECT_EQ(probabilities[i], found.at(i).scores.front().probability) << i;
  }
}

TEST_F(EncoderThreads, EndACallWhoseListenerThrows) {
  make(Head::one_label);
  const Encoder encoder(folder_.string(), {.precision = Precision::f32, .threads = 2});
  const std::vector<std::string> texts(100, "a b");
  const auto fail_at_third = [n = 0](size_t, const TextLabels&) mutable {
    if (++n == 3) {
      throw std::runtime_error("enough");
    }
  };
  EXPECT_THROW(encoder.classify(texts, {}, {}, fail_at_third), std::runtime_error);
  EXPECT_EQ(encoder.classify(texts).size(), texts.size());
}

}  // namespace
}  // namespace heed
