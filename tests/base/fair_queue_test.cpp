#include "base/fair_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace heed {
namespace {

using testing::ElementsAre;

struct NamedCall {
  std::string name;
  int texts;
};

// The names of the calls whose turn it was, one after another, until all have had theirs.
std::vector<std::string> turns(FairQueue<NamedCall>& queue) {
  std::vector<std::string> names;
  while (!queue.empty()) {
    NamedCall& call = queue.next();
    names.push_back(call.name);
    queue.end_turn(--call.texts > 0 ? FairQueue<NamedCall>::After::waits : FairQueue<NamedCall>::After::leaves);
  }
  return names;
}

TEST(FairQueue, CallsOfOneClientTakeTurns) {
  FairQueue<NamedCall> queue;
  NamedCall a{"a", 3}, b{"b", 1}, c{"c", 2};
  for (NamedCall* call : {&a, &b, &c}) {
    queue.add(*call, {});
  }
  EXPECT_THAT(turns(queue), ElementsAre("a", "b", "c", "a", "c", "a"));
}

TEST(FairQueue, ClientsTakeTurnsHoweverManyCallsTheyHave) {
  FairQueue<NamedCall> queue;
  NamedCall a1{"a1", 2}, a2{"a2", 1}, a3{"a3", 1}, b{"b", 3};
  for (NamedCall* call : {&a1, &a2, &a3}) {
    queue.add(*call, {.client = 1});
  }
  queue.add(b, {.client = 2});
  EXPECT_THAT(turns(queue), ElementsAre("a1", "b", "a2", "b", "a3", "b", "a1"));
}

TEST(FairQueue, HigherPrioritiesGoFirst) {
  FairQueue<NamedCall> queue;
  NamedCall low{"low", 2}, usual{"usual", 1}, high{"high", 2}, late{"late", 1};
  queue.add(low, {.priority = -1});
  queue.add(usual, {});
  queue.add(high, {.priority = 5, .client = 1});
  EXPECT_EQ(queue.next().name, "high");
  queue.end_turn(FairQueue<NamedCall>::After::waits);
  queue.add(late, {.priority = 5, .client = 2});
  high.texts = 1;
  EXPECT_THAT(turns(queue), ElementsAre("high", "late", "usual", "low", "low"));
}

// Who comes again and again goes behind those that wait.
TEST(FairQueue, AClientThatComesAgainWaitsForTheOthers) {
  FairQueue<NamedCall> queue;
  NamedCall a{"a", 1}, b{"b", 1}, again{"again", 1};
  queue.add(a, {.client = 1});
  queue.add(b, {.client = 2});
  queue.end_turn(FairQueue<NamedCall>::After::leaves);
  queue.add(again, {.client = 1});
  EXPECT_THAT(turns(queue), ElementsAre("b", "again"));
}

TEST(FairQueue, RemovesCallsWhereverTheyWait) {
  FairQueue<NamedCall> queue;
  NamedCall a{"a", 1}, b{"b", 1}, c{"c", 1}, d{"d", 1};
  queue.add(a, {.client = 1});
  queue.add(b, {.client = 1});
  queue.add(c, {.client = 2});
  queue.add(d, {.priority = 1});
  int seen = 0;
  queue.remove_if([&](const NamedCall& call) { return ++seen > 0 && call.name != "b"; });
  EXPECT_EQ(seen, 4);
  EXPECT_THAT(turns(queue), ElementsAre("b"));
}

}  // namespace
}  // namespace heed
