#include "decode/scheduling/worker.h"

#include <gtest/gtest.h>

#include <deque>

#include "decode/language_model_testing.h"
#include "decode/search/search.h"
#include "decode/translator_testing.h"

namespace heed::test {
namespace {

// A worker with searches that have begun.
class BusyWorker {
 public:
  explicit BusyWorker(int64_t searches)
      : worker_({t_.scheduler->inference(), nullptr, SourceVocabulary::same, memory_}, *t_.backend) {
    for (int64_t i = 0; i < searches; ++i) {
      requests_.push_back(
          &searches_.emplace_back(SearchTask{source_, bos_, 40}, TranslationOptions{}, rules_, greedy_));
    }
    call_ = std::make_unique<Call>(Call{.requests = requests_, .interruption = never_});
    for (Request* const request : requests_) {
      worker_.take(*call_, *request);
    }
  }
  Worker* operator->() { return &worker_; }

 private:
  const RandomTranslator t_;
  const std::vector<int32_t> source_{5, 6, 7}, bos_{2};
  const SearchRules rules_ = {};
  const Sampler greedy_{{.temperature = 0.0}, rules_.tokens};
  const RequestMemory memory_{t_.scheduler->inference(), 0};
  const Interruption never_ = {};
  std::deque<SearchRequest> searches_;
  std::vector<Request*> requests_;
  std::unique_ptr<Call> call_;
  Worker worker_;
};

TEST(SourcesThatCome, WaitOneStepForOthersBesideMany) {
  BusyWorker worker(8);
  EXPECT_TRUE(worker->gathers(1));
  EXPECT_FALSE(worker->gathers(1)) << "they have waited";
  EXPECT_TRUE(worker->gathers(3));
}

TEST(SourcesThatCome, DoNotWaitBesideFewOrWhereTheyAreMany) {
  EXPECT_FALSE(BusyWorker(7)->gathers(1));
  BusyWorker worker(8);
  EXPECT_FALSE(worker->gathers(0));
  EXPECT_FALSE(worker->gathers(4));
  EXPECT_TRUE(worker->gathers(1)) << "nothing has waited before";
}

}  // namespace
}  // namespace heed::test
