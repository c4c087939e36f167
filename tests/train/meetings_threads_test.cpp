// Ranks that train on their own between meetings; they are threads here.
#include "train/meetings.h"

#include "models/model_testing.h"
#include "ops/op_testing.h"
#include "ranks/thread_transport.h"
#include "train/rank_checks.h"
#include "train/ranks_training_testing.h"

namespace heed::test {
namespace {

// The outer step of one weight, in double.
struct ScalarStep {
  OuterStep step;
  double anchor, momentum = 0.0;

  void meet(double mean_difference) {
    momentum = step.momentum * momentum + mean_difference;
    anchor -= step.rate * (mean_difference + step.momentum * momentum);
  }
};

// The model that the ranks have, and how a rank changes it between meetings.
struct Replica {
  explicit Replica(Backend& backend) {
    weights.add("a", {300, 700}, WeightUse::product, Initialization::normal(1.0));  // several pieces
    weights.add("b", {7}, WeightUse::vector, Initialization::normal(1.0));
    trainables.emplace(backend, weights, DType::f32);
    trainables->initialize(backend, 1);
  }
  void train(uint64_t seed) {
    for (const WeightPiece& piece : trainables->pieces()) {
      for (int64_t i = piece.first; i < piece.first + piece.count; ++i) {
        host<float>(trainables->masters())(0, i) +=
            0.1F * static_cast<float>(uniform_draw(RandomKey{seed}, static_cast<uint64_t>(i)) - 0.4);
      }
    }
  }

  Weights weights;
  std::optional<Trainables> trainables;
};

// The masters after some meetings of several ranks; the same on all.
std::vector<double> masters_after(int meetings, int count, const OuterStep& step, TravelType type) {
  std::vector<double> result;
  run_thread_ranks(count, [&](Transport& transport) {
    const Ranks ranks(transport);
    const auto backend = make_cpu_backend(1);
    Replica replica(*backend);
    Meetings meeting(*backend, *replica.trainables, step, type);
    meeting.begin();
    for (int i = 0; i < meetings; ++i) {
      replica.train(static_cast<uint64_t>(10 * i + ranks.rank()));
      meeting.meet(ranks);
    }
    const std::string own = checksum_of_values(*replica.trainables);
    for (const std::string& other : ranks.all_texts(own)) {
      EXPECT_EQ(other, own);
    }
    if (ranks.is_first()) {
      result = values_of(replica.trainables->masters());
    }
  });
  return result;
}

std::vector<double> expected_after(int meetings, int count, const OuterStep& step) {
  const auto backend = make_cpu_backend(1);
  std::vector<std::unique_ptr<Replica>> replicas;
  for (int rank = 0; rank < count; ++rank) {
    replicas.push_back(std::make_unique<Replica>(*backend));
  }
  std::vector<ScalarStep> steps;
  for (const double value : values_of(replicas.front()->trainables->masters())) {
    steps.push_back({step, value});
  }
  for (int i = 0; i < meetings; ++i) {
    std::vector<double> differences(steps.size());
    for (int rank = 0; rank < count; ++rank) {
      const View masters = replicas[static_cast<size_t>(rank)]->trainables->masters();
      for (size_t at = 0; at < steps.size(); ++at) {
        host<float>(masters)(0, static_cast<int64_t>(at)) = static_cast<float>(steps[at].anchor);
      }
      replicas[static_cast<size_t>(rank)]->train(static_cast<uint64_t>(10 * i + rank));
      const std::vector<double> own = values_of(masters);
      for (size_t at = 0; at < steps.size(); ++at) {
        differences[at] += (steps[at].anchor - own[at]) / count;
      }
    }
    for (size_t at = 0; at < steps.size(); ++at) {
      steps[at].meet(differences[at]);
    }
  }
  std::vector<double> result;
  result.reserve(steps.size());
  for (const ScalarStep& each : steps) {
    result.push_back(each.anchor);
  }
  return result;
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0.0;
  for (size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(a[i] - b[i]));
  }
  return largest;
}

TEST(Meetings, TakeTheOuterStepWithTheMeanOfAnyNumberOfRanks) {
  const OuterStep step{.rate = 0.7, .momentum = 0.9};
  for (const int count : {1, 2, 3, 4}) {
    EXPECT_LT(largest_difference(masters_after(4, count, step, TravelType::f32), expected_after(4, count, step)), 2e-6)
        << count << " ranks";
  }
}

TEST(Meetings, WithoutMomentumAndAtRateOneAreTheMean) {
  const OuterStep step{.rate = 1.0, .momentum = 0.0};
  EXPECT_LT(largest_difference(masters_after(2, 3, step, TravelType::f32), expected_after(2, 3, step)), 1e-6);
}

TEST(Meetings, RoundDifferencesThatTravelInBf16) {
  const OuterStep step{.rate = 0.7, .momentum = 0.9};
  const std::vector<double> expected = expected_after(3, 2, step);
  const double difference = largest_difference(masters_after(3, 2, step, TravelType::bf16), expected);
  EXPECT_LT(difference, 0.01);  // differences are below 0.1 and have 8 bits; momentum adds up errors
  EXPECT_GT(difference, 1e-5);
}

TEST(Meetings, RoundDifferencesThatTravelInInt8) {
  const OuterStep step{.rate = 0.7, .momentum = 0.9};
  for (const int count : {1, 2, 3}) {
    const std::vector<double> expected = expected_after(3, count, step);
    const double difference = largest_difference(masters_after(3, count, step, TravelType::int8), expected);
    EXPECT_LT(difference, 0.005) << count;  // half of 0.06 / 127, twice in a meeting; momentum adds up errors
    EXPECT_GT(difference, 1e-5) << count;
  }
}

// Whole runs.
class LocalUpdates : public RanksTrainingTest {
 protected:
  Recipe local_recipe() const {
    Recipe recipe = text_recipe();
    recipe.training.accumulate = 2;
    recipe.training.shards = 4;
    recipe.training.local_updates = 4;
    recipe.checkpoints.moving_average = 0.9;
    recipe.checkpoints.final_weights = FinalWeights::last;
    return recipe;
  }

  double last_loss() const { return listening_.validations.back().scores.loss; }
};

TEST_F(LocalUpdates, LearnAlmostAsMuchAsRanksThatExchangeEachUpdate) {
  Recipe recipe = local_recipe();
  recipe.training.updates = 200;
  recipe.validation.every = 100;
  recipe.checkpoints.moving_average = 0.0;
  recipe.training.local_updates = 10;
  train_on(2, recipe, "local");
  const double local = last_loss();
  const int64_t sent = sent_;
  recipe.training.local_updates = 0;
  train_on(2, recipe, "synchronous");
  EXPECT_LT(local, last_loss() + 0.1);
  EXPECT_LT(static_cast<double>(sent), 0.2 * static_cast<double>(sent_)) << "about a tenth, and reports";
}

TEST_F(LocalUpdates, MeetAndReportAndValidateOnlyWhenAllHaveTheSameWeights) {
  Recipe recipe = local_recipe();
  recipe.training.log_every = 3;
  recipe.validation.every = 6;
  recipe.training.updates = 22;
  train_on(2, recipe, "run");
  const auto updates = [](const auto& events) {
    std::vector<int64_t> all;
    for (const auto& event : events) {
      all.push_back(event.update);
    }
    return all;
  };
  EXPECT_EQ(updates(listening_.progress), (std::vector<int64_t>{4, 8, 12, 16, 20, 22}));
  EXPECT_EQ(updates(listening_.validations), (std::vector<int64_t>{8, 12, 20, 22}));
}

TEST_F(LocalUpdates, Int8SendsAQuarterAndLearnsAsMuch) {
  Recipe recipe = local_recipe();
  recipe.training.updates = 200;
  recipe.validation.every = 100;
  train_on(2, recipe, "f32");
  const double loss = last_loss();
  const int64_t sent = sent_;
  recipe.training.gradients = TravelType::int8;
  train_on(2, recipe, "int8");
  EXPECT_NEAR(last_loss(), loss, 0.05);
  EXPECT_LT(static_cast<double>(sent_), 0.35 * static_cast<double>(sent)) << "a quarter, and reports";
}

TEST_F(LocalUpdates, ARunThatIsResumedGivesTheSameBits) {
  for (const int ranks : {1, 2, 3}) {
    Recipe recipe = local_recipe();
    recipe.training.gradients = ranks == 3 ? TravelType::int8 : TravelType::f32;
    const std::string name = fmt::format("{}-ranks", ranks);
    train_on(ranks, recipe, name);
    listening_.asked = 0;
    listening_.stop_after = 2;  // meetings
    EXPECT_EQ(train_on(ranks, recipe, name + "-stopped"), EndReason::stopped);
    listening_.stop_after = -1;
    EXPECT_EQ(train_on(ranks, recipe, name + "-stopped", TrainStart::resume), EndReason::updates);
    EXPECT_EQ(weights(name + "-stopped"), weights(name)) << ranks;
  }
}

TEST_F(LocalUpdates, RanksMayLeaveAndComeBackWhenARunIsResumed) {
  Recipe recipe = local_recipe();
  recipe.training.updates = 8;
  train_on(3, recipe, "run");
  recipe.training.updates = 16;
  EXPECT_EQ(train_on(2, recipe, "run", TrainStart::resume), EndReason::updates);
  recipe.training.updates = 200;
  EXPECT_EQ(train_on(4, recipe, "run", TrainStart::resume), EndReason::updates);
  EXPECT_LT(last_loss(), 1.8);  // 2.3 for letters at random
}

TEST_F(LocalUpdates, AreRefusedWhereTheModelIsDivided) {
  Recipe recipe = local_recipe();
  recipe.training.layout = "pipeline=2";
  expect_error<ConfigError>([&] { train_on(2, recipe, "refused"); }, {"training.layout", "training.local_updates"});
}

}  // namespace
}  // namespace heed::test
