// Texts whose prompts begin alike, with and without what they share.
#include <gtest/gtest.h>

#include <thread>

#include "base/random.h"
#include "decode/scheduling/calls_testing.h"

namespace heed::test {
namespace {

constexpr int64_t kPrefixBytes = 16 << 20, kLittle = 200'000;  // a page has 8 KiB

// A model that takes long prompts, with or without memory for what they begin with.
struct LongModel : RandomWeights {
  LongModel(int threads, DType type, std::optional<DType> cached_type)
      : RandomWeights(threads), storage(type), cached(cached_type) {
    draw({.architecture = Architecture::causal_lm,
          .model = 32,
          .inner = 48,
          .heads = 4,
          .encoder_layers = 0,
          .decoder_layers = 2,
          .source_vocabulary = 0,
          .target_vocabulary = tokenizer->vocabulary_size(),
          .max_length = 900},
         type, 5);
    share(0);
  }

  void share(int64_t bytes, std::chrono::milliseconds time = std::chrono::minutes(5)) {
    scheduler.emplace(Inference{*model, *backend, storage, cached}, nullptr, SourceVocabulary::other,
                      Scheduler::Memory{.prefix_bytes = bytes, .prefix_time = time});
  }
  std::vector<std::vector<Completion>> generate(const std::vector<std::string>& prompts,
                                                const GenerationOptions& options) {
    const TextGenerator generator{*scheduler, *tokenizer, {}};
    return generate_texts(generator, prompts, options, [](size_t) { return std::string("prompt"); });
  }

  std::unique_ptr<Tokenizer> tokenizer = characters();
  DType storage;
  std::optional<DType> cached;
  std::optional<Scheduler> scheduler;
};

std::string text_of(uint64_t seed, size_t length) {
  std::string text;
  for (uint64_t i = 0; text.size() < length; ++i) {
    text += "adegklmnoprstw"[static_cast<size_t>(uniform_draw(RandomKey{seed}, i) * 14.0)];
  }
  return text;
}

// Prompts of which many share beginnings of many lengths.
std::string prompt_of(uint64_t number) {
  const auto draw = [&, key = RandomKey{number}.derive("prompt")](uint64_t i, double below) {
    return static_cast<uint64_t>(uniform_draw(key, i) * below);
  };
  return text_of(draw(0, 2.0), 40 + draw(1, 600.0)) + text_of(100 + draw(2, 3.0), draw(3, 120.0));
}

GenerationOptions options_of(uint64_t number) {
  GenerationOptions options{.max_tokens = 1 + static_cast<int64_t>(number % 40)};
  options.beam = number % 5 == 0 ? 3 : 1;
  options.samples = 1 + static_cast<int64_t>(number % 3);
  if (options.beam == 1) {
    options.sampling = {.temperature = number % 2 == 0 ? 0.0 : 0.9, .seed = number};
  }
  return options;
}

struct CacheTypes {
  DType storage, cached;
};

class SharedPrefixes : public testing::TestWithParam<CacheTypes> {};

TEST_P(SharedPrefixes, GiveTheBitsOfTextsThatShareNothing) {
  constexpr uint64_t kCallers = 4, kCalls = 10;
  LongModel model(2, GetParam().storage, GetParam().cached);
  std::vector<std::vector<std::vector<Completion>>> expected;
  for (uint64_t number = 0; number < kCallers * kCalls; ++number) {
    expected.push_back(model.generate({prompt_of(number)}, options_of(number)));
  }
  for (const int64_t bytes : {kPrefixBytes, kLittle}) {
    model.share(bytes);
    std::vector<std::thread> callers;
    for (uint64_t caller = 0; caller < kCallers; ++caller) {
      callers.emplace_back([&, caller] {
        for (uint64_t number = caller * kCalls; number < (caller + 1) * kCalls; ++number) {
          const auto found = model.generate({prompt_of(number)}, options_of(number));
          for (size_t sample = 0; sample < found.front().size(); ++sample) {
            EXPECT_EQ(found.front()[sample].text, expected[number].front()[sample].text);
            EXPECT_EQ(found.front()[sample].log_probability, expected[number].front()[sample].log_probability);
          }
        }
      });
    }
    for (std::thread& caller : callers) {
      caller.join();
    }
    const PrefixReport report = model.scheduler->prefixes();
    EXPECT_EQ(report.prompts, static_cast<int64_t>(kCallers * kCalls));
    EXPECT_GT(report.hits, 0);
    if (bytes == kPrefixBytes) {  // where all stays: each of two lanes reads what is common about once
      EXPECT_GT(report.saved, report.tokens / 8);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, SharedPrefixes,
                         testing::Values(CacheTypes{DType::f32, DType::f32}, CacheTypes{DType::f32, DType::i8},
                                         CacheTypes{DType::bf16, DType::bf16}),
                         [](const auto& tested) {
                           return fmt::format("{}_{}", name_of(tested.param.storage), name_of(tested.param.cached));
                         });

// A model with one lane, so that every call finds what the one before left.
TEST(PrefixesThatStay, ServeLaterCallsUntilTheyAreForgotten) {
  LongModel model(1, DType::f32, {});
  model.share(kPrefixBytes);
  const std::string prompt = text_of(1, 500);
  model.generate({prompt}, {.max_tokens = 3});
  EXPECT_EQ(model.scheduler->prefixes().saved, 0);
  EXPECT_GT(model.scheduler->workload().used_pages, 30) << "of 16 tokens";
  const int64_t before = model.scheduler->workload().tokens;
  model.generate({prompt}, {.max_tokens = 3});
  EXPECT_EQ(model.scheduler->prefixes().saved, 499);
  EXPECT_EQ(model.scheduler->workload().tokens, before + 3);
  model.scheduler->forget_prefixes();
  wait_until([&] { return model.scheduler->workload().used_pages == 0; });
  EXPECT_EQ(model.scheduler->workload().used_pages, 0);
  model.generate({prompt}, {.max_tokens = 3});
  EXPECT_EQ(model.scheduler->prefixes().saved, 499);
}

TEST(PrefixesThatStay, AreGoneWhenTheyWereNotUsedForAWhile) {
  LongModel model(2, DType::f32, {});
  model.share(kPrefixBytes, std::chrono::milliseconds(30));
  model.generate({text_of(1, 500)}, {.max_tokens = 3});
  model.generate({text_of(1, 500), text_of(2, 500)}, {.max_tokens = 3});
  wait_until([&] { return model.scheduler->workload().used_pages + model.scheduler->workload().free_pages == 0; });
  EXPECT_EQ(model.scheduler->workload().used_pages + model.scheduler->workload().free_pages, 0);
}

// The first step reads 512 tokens of the first prompt. The second step reads the rest of it, and as much of the second
// prompt as there is room for after these 512.
TEST(PrefixesThatStay, SpareTheSecondOfTwoLongPromptsThatComeTogether) {
  LongModel model(1, DType::f32, {});
  model.share(kPrefixBytes);
  const std::string prompt = text_of(1, 800);
  model.generate({prompt, prompt}, {.max_tokens = 3});
  EXPECT_GE(model.scheduler->prefixes().saved, 512);
}

}  // namespace
}  // namespace heed::test
