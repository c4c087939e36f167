#include "checkpoint/stored_model.h"
#include "decode/texts/translation/text_translation.h"
#include "train/training_testing.h"

namespace heed::test {
namespace {

class TrainingWell : public TrainingTest {};

TEST_F(TrainingWell, LearnsAndWritesAModel) {
  write_pairs("train", 3000);
  Recipe recipe = small_recipe();
  recipe.model.model = 64;
  task(recipe).data.batches = {.target_tokens = 600};
  recipe.training.updates = 800;
  recipe.validation.every = 400;
  EXPECT_EQ(train(recipe, "run"), EndReason::updates);
  ASSERT_EQ(listening_.validations.size(), 2U);
  const Scores scores = listening_.validations.back().scores;
  EXPECT_GT(scores.find("bleu")->value, 30.0);
  // The same without a source: what can be predicted from the target's own words.
  std::string blind;
  for (int line = 0; line < 3000; ++line) {
    blind += "ja\n";
  }
  write_file(folder_ / "blind.de", blind);
  task(recipe).data.train_source = {file("blind.de")};
  train(recipe, "blind");
  EXPECT_LT(scores.loss, 0.5 * listening_.validations.back().scores.loss);
  const auto backend = make_cpu_backend(1);
  const StoredModel stored({folder_ / "run"}, *backend, DType::f32);
  Scheduler scheduler({stored.model(), *backend, DType::f32});
  const TextTranslator translator{scheduler, {stored.source(), stored.target()}};
  const std::vector<std::string> lines{reversed_sentences("test", 1).front().source, ""};
  const auto found = translate_lines(translator, lines, {}, [](size_t) { return "line"; });
  EXPECT_FALSE(found[0][0].translation.text.empty());
  EXPECT_EQ(found[1][0].translation.text, "");
}

}  // namespace
}  // namespace heed::test
