// Ranks that train independently between outer steps; they are threads here.
#include "parallel/outer_optimizer.h"

#include "kernels/cpu/cpu_backend.h"
#include "models/model_testing.h"
#include "ops/op_testing.h"
#include "parallel/rank_checks.h"
#include "ranks/thread_transport.h"

namespace heed::test {
namespace {

// The outer step of one weight, in double.
struct ScalarStep {
  OuterStep step;
  double anchor, momentum = 0.0;

  void take(double mean_difference) {
    momentum = step.momentum * momentum + mean_difference;
    anchor -= step.rate * (mean_difference + step.momentum * momentum);
  }
};

// The model that the ranks have, and how a rank changes it between outer steps.
struct Replica {
  explicit Replica(Backend& backend) {
    weights.add("a", {300, 700}, WeightUse::product, Initialization::normal(1.0));  // several slices
    weights.add("b", {7}, WeightUse::vector, Initialization::normal(1.0));
    trainables.emplace(backend, weights, DType::f32);
    trainables->initialize(backend, 1);
  }
  void train(uint64_t seed) {
    for (const WeightSlice& slice : trainables->slices()) {
      for (int64_t i = slice.first; i < slice.first + slice.count; ++i) {
        host<float>(trainables->masters())(0, i) +=
            0.1F * static_cast<float>(uniform_draw(RandomKey{seed}, static_cast<uint64_t>(i)) - 0.4);
      }
    }
  }

  Weights weights;
  std::optional<Trainables> trainables;
};

// The masters after some outer steps of several ranks; the same on all.
std::vector<double> masters_after(int steps_taken, int count, const OuterStep& step, WireType type) {
  std::vector<double> result;
  run_thread_ranks(count, [&](Transport& transport) {
    const Ranks ranks(transport);
    const auto backend = make_cpu_backend(1);
    Replica replica(*backend);
    const Tensor momentum({replica.trainables->masters().elements()}, DType::f32);
    backend->fill(momentum.view(), 0.0);
    OuterOptimizer optimizer(*backend, *replica.trainables, momentum.view(), step, type);
    for (int i = 0; i < steps_taken; ++i) {
      replica.train(static_cast<uint64_t>(10 * i + ranks.rank()));
      optimizer.step(ranks);
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

std::vector<double> expected_after(int steps_taken, int count, const OuterStep& step) {
  const auto backend = make_cpu_backend(1);
  std::vector<std::unique_ptr<Replica>> replicas;
  for (int rank = 0; rank < count; ++rank) {
    replicas.push_back(std::make_unique<Replica>(*backend));
  }
  std::vector<ScalarStep> steps;
  for (const double value : values_of(replicas.front()->trainables->masters())) {
    steps.push_back({step, value});
  }
  for (int i = 0; i < steps_taken; ++i) {
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
      steps[at].take(differences[at]);
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

TEST(OuterOptimizer, StepsByTheMeanDifferenceOfAnyNumberOfRanks) {
  const OuterStep step{.rate = 0.7, .momentum = 0.9};
  for (const int count : {1, 2, 3, 4}) {
    EXPECT_LT(largest_difference(masters_after(4, count, step, WireType::f32), expected_after(4, count, step)), 2e-6)
        << count << " ranks";
  }
}

TEST(OuterOptimizer, WithoutMomentumAndAtRateOneTakesTheMeanOfTheWeights) {
  const OuterStep step{.rate = 1.0, .momentum = 0.0};
  EXPECT_LT(largest_difference(masters_after(2, 3, step, WireType::f32), expected_after(2, 3, step)), 1e-6);
}

TEST(OuterOptimizer, RoundsDifferencesThatAreSentInBf16) {
  const OuterStep step{.rate = 0.7, .momentum = 0.9};
  const std::vector<double> expected = expected_after(3, 2, step);
  const double difference = largest_difference(masters_after(3, 2, step, WireType::bf16), expected);
  EXPECT_LT(difference, 0.01);  // differences are below 0.1 and have 8 bits; momentum adds up errors
  EXPECT_GT(difference, 1e-5);
}

// By half of 0.06 / 127 or 7, twice in a step; momentum adds up errors.
TEST(OuterOptimizer, RoundsDifferencesThatAreSentAsWholeNumbers) {
  const OuterStep step{.rate = 0.7, .momentum = 0.9};
  for (const int count : {1, 2, 3}) {
    const std::vector<double> expected = expected_after(3, count, step);
    const double in_int8 = largest_difference(masters_after(3, count, step, WireType::int8), expected);
    const double in_int4 = largest_difference(masters_after(3, count, step, WireType::int4), expected);
    EXPECT_LT(in_int8, 0.005) << count;
    EXPECT_GT(in_int8, 1e-5) << count;
    EXPECT_LT(in_int4, 0.09) << count;
    EXPECT_GT(in_int4, 5 * in_int8) << count;
  }
}

}  // namespace
}  // namespace heed::test
