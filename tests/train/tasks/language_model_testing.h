// A small run of a language model: it learns to repeat the text before a colon after it.
#pragma once

#include "base/random.h"
#include "train/recipe/language_model_recipe.h"
#include "train/training_testing.h"

namespace heed::test {

// "cafe:cafe" and so on, of letters from a to h. Four letters of a line can't be guessed; the other five and the line
// break can, by attending to the same position before the colon.
inline std::string repeated_words(uint64_t seed, int64_t lines) {
  std::string text;
  for (int64_t line = 0; line < lines; ++line) {
    const RandomKey key = RandomKey{seed}.derive(static_cast<uint64_t>(line));
    std::string word;
    for (uint64_t i = 0; i < 4; ++i) {
      word += static_cast<char>('a' + static_cast<int>(8.0 * uniform_draw(key, i)));
    }
    text += word + ":" + word + "\n";
  }
  return text;
}

class TextTrainingTest : public TrainingTest {
 protected:
  void SetUp() override {
    TrainingTest::SetUp();
    write_file(folder_ / "train.txt", repeated_words(1, 400));
    write_file(folder_ / "valid.txt", repeated_words(2, 40));
  }

  static LanguageModelRecipe& text(Recipe& recipe) { return recipe.of<LanguageModelRecipe>(); }

  Recipe text_recipe() const {
    Recipe recipe = default_recipe(task_named("language-model"));
    recipe.model.model = 32;
    recipe.model.inner = 64;
    recipe.model.heads = 2;
    recipe.model.decoder_layers = 2;
    recipe.model.max_length = 32;
    recipe.model.positions = Positions::learned;
    text(recipe).data.train = {file("train.txt")};
    text(recipe).data.validation = {file("valid.txt")};
    text(recipe).data.batches = {.context = 20, .sequences = 8};
    text(recipe).tokenizer.learned.kind = TokenizerKind::character;
    text(recipe).tokenizer.learned.vocabulary = 0;
    recipe.schedule = {.peak = 5e-3, .warmup = 10};
    recipe.training.updates = 24;
    recipe.training.log_every = 5;
    recipe.validation.every = 8;
    return recipe;
  }
};

}  // namespace heed::test
