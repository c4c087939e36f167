#include "plan/layouts/layout_cost.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "base/errors.h"

namespace heed {
namespace {

// 1 MB a second and 1 ms: times by hand are round numbers.
constexpr PlanLink kLink{.bytes_per_second = 1e6, .latency = 1e-3};

PlanUpdate eight_shards() { return {.shards = 8, .optimizer_per_weight = 1e-6}; }

// A million weights, a quarter of which backward finishes last; 1 s forward, 2 s backward.
PlanStage million() {
  return {.forward = 1.0,
          .backward = 2.0,
          .trained = 1'000'000,
          .trained_last = 250'000,
          .peak_activations = 700,
          .kept_activations = 300};
}

std::vector<PlanStage> stages(int64_t count, const PlanStage& stage) {
  return std::vector<PlanStage>(static_cast<size_t>(count), stage);
}

TEST(LayoutCost, OneRankComputesAllAndSendsNothing) {
  const LayoutCost cost = cost_of({}, eight_shards(), stages(1, million()), kLink);
  EXPECT_DOUBLE_EQ(cost.time.compute, 24.0);
  EXPECT_DOUBLE_EQ(cost.time.optimizer, 1.0);
  EXPECT_EQ(cost.time.communication(), 0.0);
  EXPECT_EQ(cost.time.idle, 0.0);
  EXPECT_EQ(cost.sent_bytes, 0.0);
  EXPECT_EQ(cost.memory.weights, 6'000'000);    // a master and a copy in bf16
  EXPECT_EQ(cost.memory.gradients, 8'000'000);  // of the shard, and the sum
  EXPECT_EQ(cost.memory.optimizer, 8'000'000);
  EXPECT_EQ(cost.memory.activations, 700);
}

TEST(LayoutCost, OneShardOnOneRankNeedsNoSumBesideItsGradient) {
  PlanUpdate update = eight_shards();
  update.shards = 1;
  EXPECT_EQ(cost_of({}, update, stages(1, million()), kLink).memory.gradients, 4'000'000);
}

TEST(LayoutCost, DataRanksSendTheirGradientsInEachRoundAndGatherTheWeightsOnce) {
  const LayoutCost cost = cost_of({.data = 4}, eight_shards(), stages(1, million()), kLink);
  EXPECT_DOUBLE_EQ(cost.time.compute, 6.0);  // two rounds
  EXPECT_DOUBLE_EQ(cost.time.optimizer, 0.25);
  // A round sends 3/4 of 4 MB in 3 s, of which 2 s of backward hide all but 1 s; the last quarter alone takes 0.75 s.
  EXPECT_DOUBLE_EQ(cost.time.gradients, 2.0 * (1e-3 + 1.0));
  EXPECT_DOUBLE_EQ(cost.time.weights, 1e-3 + 1.5);  // 3/4 of 2 MB
  EXPECT_DOUBLE_EQ(cost.sent_bytes, 2.0 * 3e6 + 1.5e6);
  EXPECT_EQ(cost.memory.weights, 2'000'000 + 1'000'000);    // the copy whole, masters divided
  EXPECT_EQ(cost.memory.gradients, 4'000'000 + 1'000'000);  // of the shard whole, the sum divided
  EXPECT_EQ(cost.memory.optimizer, 2'000'000);
}

TEST(LayoutCost, BackwardHidesAllGradientsButTheLastOnes) {
  PlanStage slow = million();
  slow.backward = 10.0;
  EXPECT_DOUBLE_EQ(cost_of({.data = 4}, eight_shards(), stages(1, slow), kLink).time.gradients, 2.0 * (1e-3 + 0.75));
}

TEST(LayoutCost, GradientsInBf16AreHalfAsMany) {
  PlanUpdate update = eight_shards();
  update.gradient_bytes = 2;
  const LayoutCost cost = cost_of({.data = 4}, update, stages(1, million()), kLink);
  EXPECT_DOUBLE_EQ(cost.sent_bytes, 2.0 * 1.5e6 + 1.5e6);
  EXPECT_DOUBLE_EQ(cost.time.gradients, 2.0 * (1e-3 + 0.375));  // 1.5 s in all, which 2 s hide
  EXPECT_EQ(cost.memory.gradients, 5'000'000);                  // sums stay in f32
}

TEST(LayoutCost, InF32TheWeightsThatProductsReadAreWholeOnEveryRank) {
  PlanUpdate update = eight_shards();
  update.copy_bytes = 4;
  update.master_bytes = 0;
  const LayoutCost cost = cost_of({.data = 4}, update, stages(1, million()), kLink);
  EXPECT_EQ(cost.memory.weights, 4'000'000);
  EXPECT_DOUBLE_EQ(cost.time.weights, 1e-3 + 3.0);
}

TEST(LayoutCost, ShardsThatDoNotDivideTakeOneMoreRound) {
  PlanUpdate update = eight_shards();
  EXPECT_EQ(rounds_of({.data = 3}, update), 3);
  EXPECT_DOUBLE_EQ(cost_of({.data = 3}, update, stages(1, million()), kLink).time.compute, 9.0);
}

TEST(LayoutCost, LocalUpdatesSynchronizeOnceInAWhileAndDivideNoState) {
  PlanUpdate update = eight_shards();
  update.local_updates = 10;
  const LayoutCost cost = cost_of({.data = 4}, update, stages(1, million()), kLink);
  EXPECT_EQ(cost.time.gradients, 0.0);
  EXPECT_EQ(cost.time.weights, 0.0);
  EXPECT_DOUBLE_EQ(cost.time.outer_steps, 2.0 * (1e-3 + 3.0) / 10.0);  // 3/4 of 4 MB, there and back
  EXPECT_DOUBLE_EQ(cost.sent_bytes, 6e6 / 10.0);
  EXPECT_DOUBLE_EQ(cost.time.optimizer, 1.0);
  EXPECT_EQ(cost.memory.weights, 6'000'000);
  EXPECT_EQ(cost.memory.gradients, 8'000'000);
  EXPECT_EQ(cost.memory.optimizer,
            8'000'000 + 8'000'000);  // the outer momentum and the weights after the last outer step
}

TEST(LayoutCost, OuterStepsSendDifferencesInTheFormatOfGradients) {
  PlanUpdate update = eight_shards();
  update.local_updates = 10;
  update.gradient_bytes = 2;
  const LayoutCost cost = cost_of({.data = 4}, update, stages(1, million()), kLink);
  EXPECT_DOUBLE_EQ(cost.time.outer_steps, 2.0 * (1e-3 + 1.5) / 10.0);
  EXPECT_DOUBLE_EQ(cost.sent_bytes, 3e6 / 10.0);
}

TEST(LayoutCost, CopyingMessagesTakesTimeOfTheProcessorsThatCompute) {
  const auto cost = [](double moved_per_second) {
    PlanLink link = kLink;
    link.moved_per_second = moved_per_second;
    return cost_of({.data = 4}, eight_shards(), stages(1, million()), link);
  };
  const LayoutCost free = cost(0.0), slow = cost(1e6);
  EXPECT_EQ(free.time.messages, 0.0);
  EXPECT_DOUBLE_EQ(slow.time.messages, 2.0 * slow.sent_bytes / 1e6);  // as much is received
  EXPECT_DOUBLE_EQ(slow.time.total(), free.time.total() + slow.time.messages);
}

TEST(LayoutCost, LocalUpdatesOfOneDataRankChangeNothing) {
  PlanUpdate update = eight_shards();
  const double total = cost_of({}, update, stages(1, million()), kLink).time.total();
  update.local_updates = 10;
  EXPECT_EQ(cost_of({}, update, stages(1, million()), kLink).time.total(), total);
}

TEST(LayoutCost, APipelineIsIdleWhileItFillsAndSendsToItsNeighbours) {
  PlanStage stage = million();
  stage.boundary_bytes = 99'000;  // 0.1 s with the latency
  std::vector<PlanStage> four = stages(4, stage);
  four.back().boundary_bytes = 0.0;
  const LayoutCost cost = cost_of({.pipeline = 4}, eight_shards(), four, kLink);
  EXPECT_DOUBLE_EQ(cost.time.compute, 24.0);
  EXPECT_DOUBLE_EQ(cost.time.idle, 9.0);  // (P - 1) / (M + P - 1) = 3/11 of the two together
  EXPECT_DOUBLE_EQ(cost.time.stages, 11.0 * 2.0 * 0.1 * 3.0 / 4.0);
  EXPECT_DOUBLE_EQ(cost.sent_bytes, 8.0 * 2.0 * 99'000);  // the middle stages send both ways
  EXPECT_EQ(cost.memory.activations, 700 + 3 * 300);      // of the first stage, with four shards in flight
  PlanUpdate two = eight_shards();
  two.shards = 2;
  EXPECT_EQ(cost_of({.pipeline = 4}, two, four, kLink).memory.activations, 700 + 300);  // no more than there are
}

TEST(LayoutCost, TheSlowestAndTheLargestStageDecide) {
  std::vector<PlanStage> two = stages(2, million());
  two[1].forward = 2.0;
  two[1].trained = 3'000'000;
  const LayoutCost cost = cost_of({.pipeline = 2}, eight_shards(), two, kLink);
  EXPECT_DOUBLE_EQ(cost.time.compute, 32.0);
  EXPECT_DOUBLE_EQ(cost.time.optimizer, 3.0);
  EXPECT_EQ(cost.memory.optimizer, 24'000'000);
}

TEST(LayoutCost, EachSumOverDividedMatricesIsSentTwiceAndNotHidden) {
  PlanStage stage = million();
  stage.tensor_sums = 10;
  stage.tensor_bytes = 400'000;
  const LayoutCost cost = cost_of({.tensor = 4}, eight_shards(), stages(1, stage), kLink);
  EXPECT_DOUBLE_EQ(cost.time.tensor, 8.0 * (10.0 * 2.0 * 1e-3 + 2.0 * 0.3));
  EXPECT_DOUBLE_EQ(cost.sent_bytes, 8.0 * 2.0 * 300'000);
  const LayoutCost staged = cost_of({.pipeline = 2, .tensor = 4}, eight_shards(), stages(2, stage), kLink);
  EXPECT_DOUBLE_EQ(staged.time.tensor, 9.0 * (10.0 * 2.0 * 1e-3 + 2.0 * 0.3));  // while the pipeline fills, too
}

// When the last stage has finished, in a pipeline that goes one forward, one backward: stage i runs min(P - i - 1, M)
// shards forward, then one forward and one backward in turn, then the remaining ones backward.
double simulated(int64_t stages, int64_t shards, double forward, double backward, double message) {
  struct Step {
    bool is_forward;
    size_t shard;
  };
  const auto p = static_cast<size_t>(stages), m = static_cast<size_t>(shards);
  std::vector<std::vector<Step>> order(p);
  for (size_t i = 0; i < p; ++i) {
    const size_t ahead = std::min(p - i - 1, m);
    for (size_t shard = 0; shard < m + ahead; ++shard) {
      if (shard < m) {
        order[i].push_back({true, shard});
      }
      if (shard >= ahead) {
        order[i].push_back({false, shard - ahead});
      }
    }
  }
  const std::vector<std::optional<double>> none(m);
  std::vector<std::vector<std::optional<double>>> forwards(p, none), backwards(p, none);
  std::vector<size_t> next(p, 0);
  std::vector<double> now(p, 0.0);
  for (size_t left = 2 * m * p; left > 0;) {
    for (size_t i = 0; i < p; ++i) {
      while (next[i] < order[i].size()) {
        const Step step = order[i][next[i]];
        std::optional<double> ready = 0.0;
        if (step.is_forward && i > 0) {
          ready = forwards[i - 1][step.shard];
        } else if (!step.is_forward && i + 1 < p) {
          ready = backwards[i + 1][step.shard];
        }
        if (!ready) {
          break;
        }
        now[i] = std::max(now[i], *ready + (*ready > 0.0 ? message : 0.0)) + (step.is_forward ? forward : backward);
        (step.is_forward ? forwards : backwards)[i][step.shard] = now[i];
        ++next[i];
        --left;
      }
    }
  }
  return *std::ranges::max_element(now);
}

TEST(LayoutCost, APipelinesTimeIsThatOfASimulation) {
  PlanStage stage = million();
  for (const int pipeline : {2, 3, 4, 8, 16}) {
    for (const int64_t shards : {1, 2, 4, 8, 32, 128}) {
      for (const double message : {0.0, 0.1, 0.3, 1.0}) {
        stage.boundary_bytes = 1e6 * message;
        const PlanUpdate update{.shards = shards};
        const double predicted =
            cost_of({.pipeline = pipeline}, update, stages(pipeline, stage), {1e6, 0.0}).time.total();
        const double real = simulated(pipeline, shards, stage.forward, stage.backward, message);
        EXPECT_LE(real, predicted * (1.0 + 1e-9)) << pipeline << " " << shards << " " << message;
        EXPECT_GE(real, predicted * (message == 0.0 || shards == 1 ? 1.0 - 1e-9 : 0.91))
            << pipeline << " " << shards << " " << message;
      }
    }
  }
}

std::vector<Layout> some_layouts() { return {{2, 1, 1}, {8, 1, 1}, {1, 4, 1}, {1, 1, 4}, {2, 2, 2}, {4, 2, 1}}; }

PlanStage with_all_kinds_of_traffic() {
  PlanStage stage = million();
  stage.tensor_sums = 4;
  stage.tensor_bytes = 1e5;
  stage.boundary_bytes = 1e4;
  return stage;
}

TEST(LayoutCost, ASlowerLinkNeverMakesAnUpdateFaster) {
  for (const Layout& layout : some_layouts()) {
    const std::vector<PlanStage> all = stages(layout.pipeline, with_all_kinds_of_traffic());
    double before = 0.0;
    for (const double bandwidth : {1e12, 1e9, 1e7, 1e6, 1e4}) {
      const double total = cost_of(layout, eight_shards(), all, {bandwidth, 1e-4}).time.total();
      EXPECT_GE(total, before) << layout.data << " " << layout.pipeline << " " << layout.tensor;
      before = total;
    }
    EXPECT_GT(cost_of(layout, eight_shards(), all, {1e9, 1.0}).time.total(),
              cost_of(layout, eight_shards(), all, {1e9, 0.0}).time.total());
  }
}

TEST(LayoutCost, MoreDataRanksNeedLessMemoryAndComputeLess) {
  LayoutCost before = cost_of({}, eight_shards(), stages(1, million()), kLink);
  for (const int data : {2, 4, 8}) {
    const LayoutCost cost = cost_of({.data = data}, eight_shards(), stages(1, million()), kLink);
    EXPECT_LT(cost.memory.total(), before.memory.total());
    EXPECT_LT(cost.time.compute, before.time.compute);
    EXPECT_LT(cost.time.optimizer, before.time.optimizer);
    EXPECT_EQ(cost.memory.optimizer, 8'000'000 / data);
    before = cost;
  }
}

TEST(LayoutCost, StagesThatAreNotTheLayoutsAreABug) {
  EXPECT_THROW(cost_of({.pipeline = 2}, eight_shards(), stages(1, million()), kLink), InternalError);
  EXPECT_THROW(cost_of({.data = 9}, eight_shards(), stages(1, million()), kLink), InternalError);
}

}  // namespace
}  // namespace heed
