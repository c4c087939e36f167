// Which requests get a place when there is one, and what is said of those that wait and run.
#include <gtest/gtest.h>

#include "decode/scheduling/calls_testing.h"

namespace heed::test {
namespace {

constexpr size_t kPlaces = 64;  // requests of a worker

// A model with one lane, all of whose places are taken but for what a second call holds.
class FullModel {
 public:
  FullModel()
      : most_(model_, std::vector<std::string>(kPlaces - 1, "two"), 1), last_(std::in_place, model_, one(), 1) {}

  static std::vector<std::string> one() { return {"ein Hund"}; }
  Workload workload() const { return model_.scheduler->workload(); }
  Endless& model() { return model_; }
  // One place becomes free.
  void free_one() { last_.reset(); }

 private:
  Endless model_{1};
  EndlessCall most_;
  std::optional<EndlessCall> last_;
};

struct WaitingCall {
  WaitingCall(FullModel& full, const Sharing& sharing)
      : before(full.workload().waiting),
        call(full.model(), FullModel::one(), 1, sharing, EndlessCall::Begin::not_awaited) {
    wait_until([&] { return full.workload().waiting == before + 1; });
  }

  int64_t before;
  EndlessCall call;
};

TEST(Sharing, AHigherPriorityGetsThePlaceThatBecomesFree) {
  FullModel full;
  WaitingCall low(full, {.priority = 0}), high(full, {.priority = 1});
  EXPECT_EQ(full.workload().waiting, 2);
  EXPECT_EQ(full.workload().running, static_cast<int64_t>(kPlaces));
  full.free_one();
  wait_until([&] { return high.call.has_begun(); });
  EXPECT_TRUE(high.call.has_begun());
  EXPECT_FALSE(low.call.has_begun());
  EXPECT_EQ(full.workload().waiting, 1);
  high.call.end();
  wait_until([&] { return low.call.has_begun(); });
  EXPECT_TRUE(low.call.has_begun());
}

TEST(Sharing, AClientWithManyCallsLeavesTheOthersTheirTurns) {
  FullModel full;
  WaitingCall first(full, {.client = 1}), second(full, {.client = 1}), other(full, {.client = 2});
  full.free_one();
  wait_until([&] { return first.call.has_begun(); });
  EXPECT_TRUE(first.call.has_begun());
  first.call.end();
  wait_until([&] { return other.call.has_begun(); });
  EXPECT_TRUE(other.call.has_begun());
  EXPECT_FALSE(second.call.has_begun());
}

TEST(Sharing, WorkloadCountsWhatRunsAndIsNothingAfterwards) {
  Endless model(2);
  {
    const EndlessCall one(model, {"two"}, 3), other(model, {"a man", "ein Hund"}, 1);
    Workload workload;
    // The texts of a beam share their first page until they differ.
    wait_until([&] {
      workload = model.scheduler->workload();
      return workload.sequences == 5 && workload.used_pages >= 5;
    });
    EXPECT_EQ(workload.waiting, 0);
    EXPECT_EQ(workload.running, 3);
    EXPECT_EQ(workload.sequences, 5);
    EXPECT_GE(workload.used_pages, 5);
    EXPECT_GT(workload.free_pages, 0);
    EXPECT_GT(workload.steps, 0);
    EXPECT_GT(workload.tokens_per_step(), 1.0);
  }
  const Workload workload = model.scheduler->workload();
  EXPECT_EQ(workload.waiting + workload.running + workload.sequences + workload.used_pages + workload.free_pages, 0);
  EXPECT_GT(workload.tokens, workload.steps);
}

constexpr int64_t kLarge = int64_t{1} << 30;  // bytes of weights

// The steps that two texts of the same length take.
int64_t steps_of_two_texts(Endless& model) {
  const int64_t before = model.scheduler->workload().steps;
  model.generate({"two", "two"}, {.max_tokens = 20});
  return model.scheduler->workload().steps - before;
}

TEST(Sharing, AFewTextsOfALargeModelHaveTheirStepsTogether) {
  Endless model(2);
  const int64_t apart = steps_of_two_texts(model);  // each lane has a text of a small model
  model.weigh(kLarge);
  EXPECT_EQ(2 * steps_of_two_texts(model), apart);
}

TEST(Sharing, ManyTextsOfALargeModelAreDividedAmongTheLanes) {
  Endless model(2);
  const int64_t apart = steps_of_two_texts(model);
  model.weigh(kLarge);
  const int64_t texts = kPlaces + 2;  // of which the first worker cannot take all
  {
    const EndlessCall call(model, std::vector<std::string>(texts, "two"), 1);
    wait_until([&] { return model.scheduler->workload().running == texts; });
    EXPECT_EQ(model.scheduler->workload().running, texts);
  }
  EXPECT_EQ(2 * steps_of_two_texts(model), apart) << "together again";
}

TEST(Sharing, ALargeModelWritesTheSameTogetherAsAlone) {
  RandomLanguageModel model(2);
  const GenerationOptions options{.samples = 2, .max_tokens = 6};
  const std::vector<std::string> prompts{"two", "a man", "ein Hund"};
  const auto apart = model.generate(prompts, options);
  model.weigh(kLarge);
  const auto together = model.generate(prompts, options);
  for (size_t i = 0; i < prompts.size(); ++i) {
    EXPECT_EQ(together[i][0].text, apart[i][0].text);
    EXPECT_EQ(together[i][1].text, apart[i][1].text);
    EXPECT_EQ(together[i][0].log_probability, apart[i][0].log_probability);
  }
}

}  // namespace
}  // namespace heed::test
