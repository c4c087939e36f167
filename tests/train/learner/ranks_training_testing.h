// Small runs on several ranks, which are threads here.
#pragma once

#include <atomic>

#include "ranks/thread_transport.h"
#include "train/tasks/language_model_testing.h"

namespace heed::test {

class RanksTrainingTest : public TextTrainingTest {
 protected:
  // The first rank's is listening_.
  EndReason train_on(int count, const Recipe& recipe, const std::string& name, TrainStart start = TrainStart::fresh) {
    EndReason reason = EndReason::stopped;
    heard_by_others_ = 0;
    run_thread_ranks(count, [&](Transport& transport) {
      const Ranks ranks(transport);
      Listening quiet;
      const auto backend = make_cpu_backend(1);
      Trainer trainer(*backend, recipe, {folder_ / name}, start, ranks.is_first() ? listening_ : quiet, ranks);
      const EndReason own = trainer.run();
      if (ranks.is_first()) {
        reason = own;
        sent_ = ranks.bytes_sent();
        trained_share_ = static_cast<double>(trainer.trained_parameters()) / static_cast<double>(trainer.parameters());
      } else {
        heard_by_others_ += std::ssize(quiet.progress) + std::ssize(quiet.validations);
      }
    });
    return reason;
  }

  EndReason train_as(const std::string& layout, int count, Recipe recipe, const std::string& name,
                     TrainStart start = TrainStart::fresh) {
    recipe.training.layout = layout;
    return train_on(count, recipe, name, start);
  }

  // Runs whose updates have a shard for each of several ranks.
  Recipe in_shards(Recipe recipe) const {
    recipe.training.accumulate = 2;
    recipe.training.shards = 4;
    recipe.checkpoints.moving_average = 0.9;
    recipe.checkpoints.final_weights = FinalWeights::average_of_last;
    return recipe;
  }

  // A run of `recipe` that is stopped on some ranks and goes on with others ends with the weights of "unbroken".
  struct Break {
    int first, then, stop_after;
  };
  template <class Train>
  void expect_bits_after(const Break& run, const Recipe& recipe, Train train) {
    const std::string name = fmt::format("from-{}-to-{}", run.first, run.then);
    listening_.asked = 0;
    listening_.stop_after = run.stop_after;
    EXPECT_EQ(train(run.first, recipe, name, TrainStart::fresh), EndReason::stopped);
    listening_.stop_after = -1;
    EXPECT_EQ(train(run.then, recipe, name, TrainStart::resume), EndReason::updates);
    EXPECT_EQ(weights(name), weights("unbroken")) << name;
  }

  // A hash of the masters and the optimizer's state after the last update.
  std::string state(const std::string& name) const {
    const auto file = folder_ / name / "checkpoints/update-00000024/training.safetensors";
    return SafeTensors(file).metadata().at("heed_checksum");
  }

  // Set by the last run.
  int64_t sent_ = 0;                         // bytes, by the first rank
  double trained_share_ = 0.0;               // of the parameters, as the first rank counts them
  std::atomic<int64_t> heard_by_others_{0};  // what the listeners of all other ranks were told
};

// The bits are those of one rank.
class RanksTraining : public RanksTrainingTest {
 protected:
  void expect_same_bits(const Recipe& recipe, const std::string& name) {
    train(recipe, name + "-1");
    for (const int ranks : {2, 3}) {
      const std::string other = fmt::format("{}-{}", name, ranks);
      train_on(ranks, recipe, other);
      EXPECT_GE(heard_by_others_, ranks - 1);
      EXPECT_EQ(weights(other), weights(name + "-1")) << ranks << " ranks";
      EXPECT_EQ(state(other), state(name + "-1")) << ranks << " ranks";
    }
  }
};

}  // namespace heed::test
