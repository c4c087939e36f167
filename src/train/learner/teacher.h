// The model that a student learns from.
#pragma once

#include <memory>

#include "checkpoint/stored_model.h"
#include "parallel/shard.h"
#include "train/recipe/recipe.h"

namespace heed {

class Teacher {
 public:
  // ConfigError unless the model reads and predicts what the student does: the same tokens or labels.
  Teacher(const Recipe& recipe, const Tokenizers& of_student, Backend& backend);

  // The labels of its head, in their order.
  static std::vector<std::string> labels_of(const Recipe& recipe);

  int64_t parameters() const { return model_.parameters(); }

  // The loss of a shard on the student's pass, which learns from this model's probabilities.
  TokenLosses loss(Pass& pass, const AnyModel& student, const Shard& shard, Smoothing smoothing) const;

 private:
  DistilRecipe recipe_;
  StoredModel model_;
};

// The same, or the shard's own loss where there is no teacher.
inline TokenLosses loss_of_shard(const Teacher* teacher, Pass& pass, const AnyModel& model, const Shard& shard,
                                 Smoothing smoothing) {
  return teacher == nullptr ? shard.loss(pass, model, smoothing) : teacher->loss(pass, model, shard, smoothing);
}

}  // namespace heed
