#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "bindings/c/c_training.h"

namespace heed::test {
namespace {

const std::vector<const char*> kManyLines{"ein Hund läuft",  "zwei Kinder spielen",
                                          "eine Frau liest", "der Mann fährt schnell",
                                          "ein Ball",        "die Katze schläft"};

TEST(CThreads, TranslateTheSameTogetherAsAlone) {
  const TranslatorOwner translator = open_translator({{HEED_THREADS, 2}});
  const OptionsOwner options = make_options({{HEED_BEAM, 2}, {HEED_MAX_TOKENS, 20}});
  const auto read = [&] {
    std::string all;
    const TextsOwner texts = translate(translator, kManyLines, options.get());
    for (size_t i = 0; i < kManyLines.size(); ++i) {
      all += text_at(texts, i) + "\n";
    }
    return all;
  };
  std::vector<std::string> together(4);
  std::vector<std::thread> threads;
  for (std::string& found : together) {
    threads.emplace_back([&] { found = read(); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  const std::string alone = read();
  for (const std::string& found : together) {
    EXPECT_EQ(found, alone);
  }
}

struct Waiting {
  std::atomic<bool> began = false;
};

int begin(void* user, size_t /*input*/, size_t /*sample*/, const char* /*piece*/, size_t /*length*/) {
  static_cast<Waiting*>(user)->began = true;
  return 0;
}

TEST(CThreads, AStopEndsACallOfAnotherThread) {
  const GeneratorOwner generator = open_generator();
  heed_stop* stop = nullptr;
  HEED_ASSERT_OK(heed_stop_create(&stop));
  Waiting waiting;
  const OptionsOwner options = make_options({{HEED_MAX_TOKENS, 100'000'000}, {HEED_MIN_TOKENS, 100'000'000}});
  HEED_EXPECT_OK(heed_options_set_stop(options.get(), stop));
  HEED_EXPECT_OK(heed_options_on_piece(options.get(), begin, &waiting));
  heed_texts* texts = nullptr;
  std::thread caller([&] {
    const char* const prompts[] = {"a"};
    HEED_EXPECT_OK(heed_generator_generate(generator.get(), prompts, nullptr, 1, options.get(), &texts));
  });
  while (!waiting.began) {
    std::this_thread::yield();
  }
  HEED_EXPECT_OK(heed_stop_request(stop));
  caller.join();
  const TextsOwner owner(texts);
  const char* reason = "";
  HEED_EXPECT_OK(heed_texts_reason(texts, 0, 0, &reason));
  EXPECT_EQ(std::string(reason), "cancelled");
  heed_stop_free(stop);
}

class CTrainingThreads : public CTrainingTest {};

TEST_F(CTrainingThreads, TrainingsBesideEachOtherLeaveTheSameModel) {
  std::vector<std::thread> threads;
  const std::string recipe_path = recipe();
  for (const std::string name : {"one", "other"}) {
    threads.emplace_back([&recipe_path, directory = path(name)] {
      HEED_EXPECT_OK(heed_train(recipe_path.c_str(), directory.c_str(), training_options().get(), nullptr));
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  const std::string one = content(path("one") + "/model.safetensors");
  EXPECT_FALSE(one.empty());
  EXPECT_EQ(one, content(path("other") + "/model.safetensors"));
}

}  // namespace
}  // namespace heed::test
