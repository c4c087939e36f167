// Training of a model whose matrices ranks divide.
#pragma once

#include <algorithm>
#include <cmath>

#include "checkpoint/weights.h"
#include "train/learner/ranks_training_testing.h"

namespace heed::test {

class PartsTraining : public RanksTrainingTest {
 protected:
  std::vector<float> all_weights(const std::string& name) const {
    const SafeTensors file(folder_ / name / "model.safetensors");
    std::vector<float> values;
    for (const StoredTensor& tensor : file.tensors()) {
      const std::vector<float> own = read_weight(file, tensor);
      values.insert(values.end(), own.begin(), own.end());
    }
    return values;
  }

  // Relative to the weights' own size.
  double distance(const std::string& name, const std::string& other) const {
    const std::vector<float> a = all_weights(name), b = all_weights(other);
    EXPECT_EQ(a.size(), b.size());
    double difference = 0.0, size = 0.0;
    for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
      difference += static_cast<double>((a[i] - b[i]) * (a[i] - b[i]));
      size += static_cast<double>(a[i] * a[i]);
    }
    return std::sqrt(difference / size);
  }

  Recipe in_shards(Recipe recipe) const {
    recipe.model.heads = 2;
    recipe.training.precision = Precision::f32;
    return RanksTrainingTest::in_shards(recipe);
  }

  static constexpr double kTolerance = 1e-3;
  using Layouts = std::vector<std::pair<std::string, int>>;

  void expect_same(const Recipe& recipe, const std::string& name, const Layouts& layouts) {
    train(recipe, name);
    const auto validations = listening_.validations;
    for (const auto& [layout, ranks] : layouts) {
      const std::string other = name + "-" + layout;
      listening_.validations.clear();
      EXPECT_EQ(train_as(layout, ranks, recipe, other), EndReason::updates);
      EXPECT_EQ(trained_share_, 1.0) << layout;
      EXPECT_LT(distance(other, name), kTolerance) << layout;
      ASSERT_EQ(listening_.validations.size(), validations.size());
      for (size_t i = 0; i < validations.size(); ++i) {
        const double loss = validations[i].scores.loss;
        EXPECT_NEAR(listening_.validations[i].scores.loss, loss, kTolerance * loss) << layout;
      }
    }
    listening_.validations.clear();
  }
};

}  // namespace heed::test
