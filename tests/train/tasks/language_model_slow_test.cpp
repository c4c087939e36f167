#include "train/tasks/language_model_testing.h"

#include <cmath>

namespace heed::test {
namespace {

class LanguageModelLearning : public TextTrainingTest {};

// Four of every ten characters are one of eight. Without attention to them, the four after the colon can't be
// predicted.
TEST_F(LanguageModelLearning, RepeatsTheTextBeforeTheColon) {
  write_file(folder_ / "train.txt", repeated_words(1, 4000));
  const double best = 0.4 * std::log(8.0), blind = 0.8 * std::log(8.0);
  for (const Documents documents : {Documents::none, Documents::lines}) {
    Recipe recipe = text_recipe();
    text(recipe).data.documents = documents;
    text(recipe).data.batches = {.context = 30, .sequences = 16};
    recipe.training.updates = recipe.validation.every = 600;
    recipe.training.smoothing = 0.0;
    train(recipe, documents == Documents::none ? "stream" : "lines");
    const double loss = listening_.validations.back().scores.loss;
    EXPECT_LT(loss, best + 0.25 * (blind - best));
    EXPECT_GT(loss, 0.95 * best) << "it knew what can't be known";
  }
}

}  // namespace
}  // namespace heed::test
