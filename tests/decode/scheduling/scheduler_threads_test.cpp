#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/random.h"
#include "decode/language_model_testing.h"
#include "decode/scheduling/calls_testing.h"
#include "decode/translator_testing.h"

namespace heed::test {
namespace {

const std::vector<std::string> kTexts{"two", "a man is", "ein Hund", "", "a man is walking in the park. two", "zur"};

// What a caller wants, drawn from its number.
struct Call {
  explicit Call(uint64_t number) {
    const RandomKey key = RandomKey{number}.derive("call");
    auto draw = [&, i = uint64_t{0}](size_t below) mutable {
      return static_cast<size_t>(uniform_draw(key, i++) * static_cast<double>(below));
    };
    const size_t count = 1 + draw(5);
    for (size_t i = 0; i < count; ++i) {
      prompts.push_back(kTexts[draw(kTexts.size())]);
    }
    options.beam = draw(3) == 0 ? 3 : 1;
    options.samples = 1 + static_cast<int64_t>(draw(3));
    options.max_tokens = 1 + static_cast<int64_t>(draw(50));  // some beyond what the model takes
    if (options.beam == 1) {
      options.sampling = {.temperature = draw(2) == 0 ? 0.0 : 0.9, .frequency_penalty = 0.1, .seed = number};
    }
  }

  std::vector<std::string> prompts;
  GenerationOptions options;
};

void expect_same(const std::vector<std::vector<Completion>>& found,
                 const std::vector<std::vector<Completion>>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i].size(), expected[i].size());
    for (size_t sample = 0; sample < found[i].size(); ++sample) {
      EXPECT_EQ(found[i][sample].text, expected[i][sample].text);
      EXPECT_EQ(found[i][sample].log_probability, expected[i][sample].log_probability);
    }
  }
}

struct Types {
  DType storage, cached;
};

class SchedulerOfModels : public testing::TestWithParam<Types> {};

// Callers come and go, each with other prompts, options and numbers of texts.
TEST_P(SchedulerOfModels, EachCallerGetsTheTextsThatItGetsAlone) {
  RandomLanguageModel model(2, GetParam().storage);
  model.cache_in(GetParam().cached);
  constexpr uint64_t kCallers = 3, kCalls = 6;
  std::vector<std::vector<std::vector<Completion>>> alone;
  for (uint64_t number = 0; number < kCallers * kCalls; ++number) {
    const Call call(number);
    alone.push_back(model.generate(call.prompts, call.options));
  }
  std::vector<std::thread> callers;
  for (uint64_t caller = 0; caller < kCallers; ++caller) {
    callers.emplace_back([&, caller] {
      for (uint64_t i = 0; i < kCalls; ++i) {
        const uint64_t number = caller * kCalls + i;
        const Call call(number);
        expect_same(model.generate(call.prompts, call.options), alone[number]);
      }
    });
  }
  for (std::thread& caller : callers) {
    caller.join();
  }
}

INSTANTIATE_TEST_SUITE_P(Types, SchedulerOfModels,
                         testing::Values(Types{DType::f32, DType::f32}, Types{DType::f32, DType::bf16},
                                         Types{DType::f32, DType::i8}, Types{DType::bf16, DType::bf16},
                                         Types{DType::bf16, DType::i8}),
                         [](const auto& tested) {
                           return fmt::format("{}_{}", name_of(tested.param.storage), name_of(tested.param.cached));
                         });

TEST(Scheduler, ASmallCallDoesNotWaitForALargeOne) {
  Endless model(1);
  const EndlessCall alone(model, {"two"}, 1);  // it has the threads of a call that is alone
  const EndlessCall large(model, std::vector<std::string>(40, "two"), 1);
  const auto found = model.generate({"ein Hund", "zur"}, {.max_tokens = 5});
  EXPECT_EQ(found.back().front().tokens, 5);
}

// A call with several texts takes a place beside others of its kind on each worker.
TEST(Scheduler, ACallOfSeveralTextsDoesNotWaitForOthersToEnd) {
  Endless model(2);
  const EndlessCall first(model, {"two"}, 4), second(model, {"two"}, 4), third(model, {"two"}, 4);
  const auto found = model.generate({"ein Hund"}, {.samples = 4, .max_tokens = 5});
  EXPECT_EQ(found.front().front().tokens, 5);
}

TEST(Scheduler, AListenerThatThrowsWhenItsCallEndsHarmsNoOther) {
  class ThrowsAtTheEnd final : public GenerationListener {
   public:
    void on_completion(const Text& /*text*/, const Completion& /*completion*/) override {
      throw FormatError("nobody listens");
    }
  };
  Endless model(1);
  ThrowsAtTheEnd listener;
  const EndlessCall other(model, {"two", "zur"}, 1);
  const GenerationOptions interrupted{.max_tokens = 1'000'000'000, .interruption = {.stop = {}, .deadline = soon(20)}};
  EXPECT_THROW(model.generate({"two", "ein"}, interrupted, &listener), FormatError);
  const auto found = model.generate({"a man", "zur"}, {.max_tokens = 5});
  EXPECT_EQ(found.front().front().tokens, 5);
}

TEST(Scheduler, ACallThatIsStoppedKeepsWhatItHas) {
  for (const size_t prompts : {1U, 100U}) {
    Endless model(2);
    std::stop_source stop;
    Listener listener([&] { stop.request_stop(); });
    const auto found =
        model.generate(std::vector<std::string>(prompts, "two"),
                       {.samples = 2, .max_tokens = 1'000'000, .interruption = {.stop = stop.get_token()}}, &listener);
    EXPECT_EQ(listener.completed(), static_cast<int>(2 * prompts)) << "all are told so";
    int64_t tokens = 0;
    for (const auto& texts : found) {
      for (const Completion& text : texts) {
        EXPECT_EQ(text.reason, FinishReason::cancelled);
        tokens += text.tokens;
      }
    }
    EXPECT_GT(tokens, 0);
  }
}

TEST(Scheduler, ADeadlineEndsTextsAndTranslations) {
  Endless model(2);
  for (const size_t prompts : {1U, 5U}) {
    const auto found = model.generate(std::vector<std::string>(prompts, "two"),
                                      {.max_tokens = 1'000'000, .interruption = {.stop = {}, .deadline = soon(20)}});
    for (const auto& texts : found) {
      EXPECT_EQ(texts.front().reason, FinishReason::deadline);
    }
  }
  const RandomTranslator translator;
  const Interruption past{.stop = {}, .deadline = std::chrono::steady_clock::now()};
  EXPECT_THROW(translator.translate({"two dogs"}, {.interruption = past}), InterruptedError);
  EXPECT_THROW(translator.translate({"two dogs", "ein Hund", "zur"}, {.beam = 2, .interruption = past}),
               InterruptedError);
}

TEST(Scheduler, AListenerThatThrowsEndsItsOwnCallOnly) {
  Endless model(2);
  const GenerationOptions options{.max_tokens = 60};
  const auto expected = model.generate({"two", "zur"}, options);
  std::thread other([&] { expect_same(model.generate({"two", "zur"}, options), expected); });
  Listener listener([] { throw FormatError("the disk is full"); });
  EXPECT_THROW(model.generate(std::vector<std::string>(50, "two"), options, &listener), FormatError);
  Listener another([] { throw FormatError("the disk is full"); });
  EXPECT_THROW(model.generate({"two"}, options, &another), FormatError) << "alone";
  other.join();
  expect_same(model.generate({"two", "zur"}, options), expected);
}

}  // namespace
}  // namespace heed::test
