#include "encode/text_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <thread>

#include "encode/text_readings.h"
#include "models/random_weights.h"

namespace heed {
namespace {

using testing::ElementsAre;

constexpr Reading kMeans{Reading::Result::embeddings, Pooling::mean};
constexpr Reading kFirsts{Reading::Result::embeddings, Pooling::first};

EncodedText numbered_text(uint64_t number, size_t length) {
  EncodedText text{.ids = {}, .types = {}, .first_of_words = {}, .masks = {}};
  for (size_t i = 0; i < length; ++i) {
    text.ids.push_back(static_cast<int32_t>(uniform_draw(RandomKey{number}, i) * 30.0));
  }
  text.types.resize(length, 0);
  return text;
}

class TextReaders : public testing::Test {
 protected:
  explicit TextReaders(int threads = 1) : weights_(threads) {
    ModelConfig config{
        .architecture = Architecture::encoder, .model = 16, .inner = 24, .heads = 2, .encoder_layers = 2};
    config.source_vocabulary = 30;
    config.max_length = 64;
    weights_.draw(config, DType::f32, 3);
    reader_.emplace(*weights_.model, DType::f32, *weights_.backend);
  }

  template <class Holds>
  static void wait_until(const Holds& holds) {
    for (int i = 0; i < 10'000 && !holds(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  void wait_for_waiting(int64_t texts) {
    wait_until([&] { return reader_->workload().waiting == texts; });
    ASSERT_EQ(reader_->workload().waiting, texts);
  }

  // A call that keeps the only lane busy until it is released.
  class Held {
   public:
    explicit Held(TextReader& reader)
        : caller_([this, &reader] {
            reader.read({&text_, 1}, kMeans, [this](size_t, ConstView) {
              began_.count_down();
              released_.wait();
            });
          }) {
      began_.wait();
    }
    ~Held() { caller_.join(); }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;

    void release() { released_.count_down(); }

   private:
    const EncodedText text_ = numbered_text(1, 5);
    std::latch began_{1}, released_{1};
    std::thread caller_;
  };

  test::RandomWeights weights_;
  std::optional<TextReader> reader_;
};

TEST_F(TextReaders, CallsThatCameInTheMeantimeShareABatch) {
  constexpr size_t kCalls = 10;
  std::vector<EncodedText> texts;
  for (size_t i = 0; i < kCalls; ++i) {
    texts.push_back(numbered_text(i, 3 + i));
  }
  const auto expected = embeddings(*reader_, texts, Pooling::mean);
  const Workload before = reader_->workload();
  std::vector<std::vector<std::vector<float>>> found(kCalls);
  std::vector<std::thread> callers;
  {
    Held held(*reader_);
    for (size_t i = 0; i < kCalls; ++i) {
      callers.emplace_back([&, i] { found[i] = embeddings(*reader_, {&texts[i], 1}, Pooling::mean); });
    }
    wait_for_waiting(kCalls);
    EXPECT_EQ(reader_->workload().running, 1);
    held.release();
  }
  for (std::thread& caller : callers) {
    caller.join();
  }
  for (size_t i = 0; i < kCalls; ++i) {
    EXPECT_EQ(found[i].front(), expected[i]) << "to the last bit";
  }
  EXPECT_EQ(reader_->workload().steps - before.steps, 2) << "the one that was held, and all others";
  EXPECT_EQ(reader_->workload().waiting + reader_->workload().running, 0);
}

TEST_F(TextReaders, HigherPrioritiesAreReadFirst) {
  std::vector<int> order;
  const EncodedText text = numbered_text(2, 5);
  const auto call = [&](int priority, const Reading& reading) {
    reader_->read({&text, 1}, reading, [&, priority](size_t, ConstView) { order.push_back(priority); },
                  {.interruption = {}, .sharing = {.priority = priority}});
  };
  std::thread low, high;
  {
    Held held(*reader_);
    low = std::thread([&] { call(1, kMeans); });
    wait_for_waiting(1);
    high = std::thread([&] { call(2, kFirsts); });  // which cannot be in one batch with the other
    wait_for_waiting(2);
    held.release();
  }
  low.join();
  high.join();
  EXPECT_THAT(order, ElementsAre(2, 1));
}

TEST_F(TextReaders, ACallIsStoppedWhileItWaits) {
  std::stop_source stop;
  std::atomic<int> taken{0};
  const std::vector<EncodedText> texts(3, numbered_text(2, 5));
  std::thread caller;
  {
    Held held(*reader_);
    caller = std::thread([&] {
      const ReadingOptions options{.interruption = {.stop = stop.get_token()}};
      EXPECT_THROW(reader_->read(
                       texts, kMeans, [&](size_t, ConstView) { ++taken; }, options),
                   InterruptedError);
    });
    wait_for_waiting(3);
    stop.request_stop();
    held.release();
  }
  caller.join();
  EXPECT_EQ(taken, 0);
  EXPECT_EQ(reader_->workload().steps, 1);
  EXPECT_EQ(reader_->workload().waiting + reader_->workload().running, 0);
}

TEST_F(TextReaders, ACallIsStoppedBetweenItsBatches) {
  std::stop_source stop;
  std::atomic<int> taken{0};
  const std::vector<EncodedText> texts(100, numbered_text(2, 64));
  const auto take = [&](size_t, ConstView) {
    ++taken;
    stop.request_stop();
  };
  EXPECT_THROW(reader_->read(texts, kMeans, take, {.interruption = {.stop = stop.get_token()}}), InterruptedError);
  EXPECT_GT(taken, 0);
  EXPECT_LT(taken, 20) << "one batch";
  EXPECT_EQ(reader_->workload().waiting + reader_->workload().running, 0);
}

TEST_F(TextReaders, NothingIsReadAfterTheDeadline) {
  const EncodedText text = numbered_text(2, 5);
  const Interruption past{.stop = {}, .deadline = std::chrono::steady_clock::now()};
  EXPECT_THROW(embeddings(*reader_, {&text, 1}, {}, {.interruption = past}), InterruptedError);
  EXPECT_EQ(reader_->workload().steps, 0);
}

TEST_F(TextReaders, WhatACallThrowsEndsNoOther) {
  const EncodedText text = numbered_text(2, 5);
  std::thread bad, good;
  std::atomic<bool> was_read{false};
  {
    Held held(*reader_);
    bad = std::thread([&] {
      EXPECT_THROW(reader_->read({&text, 1}, kMeans, [](size_t, ConstView) { throw FormatError("full"); }),
                   FormatError);
    });
    wait_for_waiting(1);
    good = std::thread([&] { reader_->read({&text, 1}, kMeans, [&](size_t, ConstView) { was_read = true; }); });
    wait_for_waiting(2);
    held.release();
  }
  bad.join();
  good.join();
  EXPECT_TRUE(was_read);
  EXPECT_EQ(reader_->workload().steps, 2) << "in one batch";
}

class TextReadersOfTwoLanes : public TextReaders {
 protected:
  TextReadersOfTwoLanes() : TextReaders(2) {}
};

TEST_F(TextReadersOfTwoLanes, GiveEachTextTheBitsThatItGetsAlone) {
  constexpr uint64_t kCallers = 6, kCalls = 30;
  const auto texts_of = [](uint64_t number) {
    std::vector<EncodedText> texts;
    for (uint64_t i = 0; i < 1 + number % 5 * (number % 7); ++i) {
      texts.push_back(numbered_text(number * 100 + i, 1 + (number * 13 + i * 7) % 64));
    }
    return texts;
  };
  const auto pooling_of = [](uint64_t number) { return number % 4 == 0 ? Pooling::first : Pooling::mean; };
  std::vector<std::vector<std::vector<float>>> alone;
  for (uint64_t number = 0; number < kCallers * kCalls; ++number) {
    std::vector<std::vector<float>>& of_call = alone.emplace_back();
    for (const EncodedText& text : texts_of(number)) {
      of_call.push_back(embeddings(*reader_, {&text, 1}, pooling_of(number)).front());
    }
  }
  std::vector<std::thread> callers;
  for (uint64_t caller = 0; caller < kCallers; ++caller) {
    callers.emplace_back([&, caller] {
      for (uint64_t number = caller * kCalls; number < (caller + 1) * kCalls; ++number) {
        EXPECT_EQ(embeddings(*reader_, texts_of(number), pooling_of(number)), alone[number]);
      }
    });
  }
  for (std::thread& caller : callers) {
    caller.join();
  }
}

}  // namespace
}  // namespace heed
