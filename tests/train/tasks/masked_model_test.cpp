#include "train/tasks/masked_model_task.h"

#include <gmock/gmock.h>

#include <cmath>

#include "checkpoint/stored_model.h"
#include "train/tasks/language_model_testing.h"

namespace heed::test {
namespace {

using testing::HasSubstr;

class MaskedModelTraining : public TextTrainingTest {
 protected:
  static MaskedModelRecipe& masked(Recipe& recipe) { return recipe.of<MaskedModelRecipe>(); }

  Recipe masked_recipe() const {
    const Recipe causal = text_recipe();
    Recipe recipe = default_recipe(task_named("masked-lm"));
    const Architecture encoder = recipe.model.architecture;
    recipe.model = causal.model;
    recipe.model.architecture = encoder;
    recipe.model.encoder_layers = 2;
    masked(recipe).data = causal.of<LanguageModelRecipe>().data;
    masked(recipe).data.documents = Documents::lines;
    masked(recipe).tokenizer = causal.of<LanguageModelRecipe>().tokenizer;
    recipe.schedule = causal.schedule;
    recipe.training.updates = 24;
    recipe.training.log_every = 5;
    recipe.validation.every = 8;
    return recipe;
  }

  std::string refusal(const Recipe& recipe) {
    try {
      train(recipe, "refused");
    } catch (const Error& error) {
      EXPECT_FALSE(std::filesystem::exists(folder_ / "refused")) << "something was left behind";
      return error.what();
    }
    return "no error";
  }
};

TEST_F(MaskedModelTraining, AResumedRunGivesTheSameBits) {
  Recipe recipe = masked_recipe();
  recipe.training.accumulate = 2;
  train(recipe, "whole");
  for (const int64_t stop : {1, 8, 19}) {
    const std::string stopped = fmt::format("stopped-{}", stop);
    listening_.asked = 0;
    listening_.stop_after = stop;
    EXPECT_EQ(train(recipe, stopped), EndReason::stopped);
    listening_.stop_after = -1;
    EXPECT_EQ(train(recipe, stopped, TrainStart::resume), EndReason::updates);
    EXPECT_EQ(weights(stopped), weights("whole"));
  }
}

// Each update masks anew, and an update cut into two batches masks as one batch does.
TEST_F(MaskedModelTraining, MasksAnewEachUpdateHoweverItIsCutIntoBatches) {
  Recipe recipe = masked_recipe();
  MaskedModelTask one(recipe, {});
  recipe.training.accumulate = 2;
  masked(recipe).data.batches.sequences = 4;
  MaskedModelTask two(recipe, {});
  std::vector<int64_t> targets;
  for (int64_t update = 0; update < 8; ++update) {
    const Update whole = one.next_update(update), cut = two.next_update(update);
    EXPECT_EQ(whole.shards.size(), 1U);
    EXPECT_EQ(cut.shards.size(), 2U);
    EXPECT_EQ(whole.examples, cut.examples);
    EXPECT_EQ(whole.targets(), cut.targets());
    targets.push_back(whole.targets());
  }
  EXPECT_NE(std::ranges::min(targets), std::ranges::max(targets));
  MaskedModelTask again(masked_recipe(), {}), later(masked_recipe(), {});
  int64_t differing = 0;
  for (int64_t update = 0; update < 8; ++update) {
    differing += again.next_update(update).targets() != later.next_update(update + 1).targets() ? 1 : 0;
  }
  EXPECT_GT(differing, 0) << "the masks depend on the update, not on the text alone";
}

// What is before the colon tells what is after it, and the other way around. How often each letter comes tells no more
// than 1.85 nats: 8/9 ln 8.
TEST_F(MaskedModelTraining, LearnsMoreThanLetterFrequencies) {
  Recipe recipe = masked_recipe();
  recipe.model.embedding_dropout = recipe.model.attention_dropout = recipe.model.inner_dropout =
      recipe.model.branch_dropout = Probability(0.0F);
  write_file(folder_ / "train.txt", repeated_words(3, 8000));
  masked(recipe).data.batches = {.context = 11, .sequences = 64};  // a line with its marks
  recipe.training.updates = 1000;
  recipe.validation.every = 1000;
  recipe.schedule = {.kind = ScheduleKind::cosine, .peak = 5e-3, .warmup = 50, .length = 1000};
  train(recipe, "run");
  const Scores& scores = listening_.validations.back().scores;
  EXPECT_GT(scores.find("accuracy")->value, 0.35);  // by chance: 0.22
  EXPECT_LT(scores.loss, 1.5);
  ASSERT_EQ(scores.samples.size(), 3U);
  EXPECT_THAT(scores.samples.front().text, testing::StartsWith(" => "));
}

TEST_F(MaskedModelTraining, ReadsPairsWithTheTypesOfTheirTexts) {
  std::string pairs = repeated_words(4, 100);
  std::ranges::replace(pairs, ':', '\t');
  write_file(folder_ / "pairs.txt", pairs);
  Recipe recipe = masked_recipe();
  masked(recipe).data.columns = TextColumns::pair;
  masked(recipe).data.train = masked(recipe).data.validation = {file("pairs.txt")};
  masked(recipe).data.batches.context = 12;  // cuts pairs: <s> abcd <sep> abcd </s> has 11 tokens
  recipe.model.token_types = 2;
  MaskedModelTask task(recipe, {});
  EXPECT_EQ(task.tokenizers().front()->find("\t"), std::nullopt);
  const Update update = task.next_update(0);
  const Sequences& texts = update.shards.front()->texts().source;
  ASSERT_EQ(std::ssize(texts.types()), texts.rows());
  const std::span<const int32_t> ids = texts.tokens().ids();
  const SpecialTokens& special = task.tokenizers().front()->special();
  int64_t separators = 0;
  for (int64_t s = 0; s < texts.segments().count(); ++s) {
    for (int64_t row = texts.segments().begin(s); row < texts.segments().end(s); ++row) {
      const auto at = static_cast<size_t>(row);
      if (ids[at] == special.bos.value || ids[at] == special.sep.value) {
        EXPECT_EQ(texts.types()[at], 0) << row;
      } else if (ids[at] == special.eos.value ||
                 (row > texts.segments().begin(s) && ids[at - 1] == special.sep.value)) {
        EXPECT_EQ(texts.types()[at], 1) << row;
      }
      separators += ids[at] == special.sep.value ? 1 : 0;
    }
  }
  EXPECT_GT(separators, 4);
  recipe.training.updates = 2;
  recipe.validation.every = 2;
  train(recipe, "pairs");
  EXPECT_EQ(load_description({folder_ / "pairs"}).columns, TextColumns::pair);
  EXPECT_TRUE(std::isfinite(listening_.validations.back().scores.loss));
  recipe.model.token_types = 1;
  EXPECT_THAT(refusal(recipe), HasSubstr("model.token_types is 1, but data.pairs"));
  recipe.model.token_types = 2;
  masked(recipe).data.documents = Documents::none;
  EXPECT_THAT(refusal(recipe), HasSubstr("data.pairs needs data.documents = \"line\""));
}

TEST_F(MaskedModelTraining, WritesAnEncoderWithAMaskToken) {
  train(masked_recipe(), "run");
  const auto backend = make_cpu_backend(1);
  const StoredModel stored({folder_ / "run"}, *backend, DType::f32);
  EXPECT_EQ(stored.config().architecture, Architecture::encoder);
  EXPECT_TRUE(stored.text().find("<mask>").has_value());
}

TEST_F(MaskedModelTraining, AnUntrainedModelsLossIsTheLogOfTheVocabularySize) {
  Recipe recipe = masked_recipe();
  const MaskedModelTask task(recipe, {});
  recipe.model.source_vocabulary = task.tokenizers().front()->vocabulary_size();
  const auto backend = make_cpu_backend(1);
  Weights all;
  const AnyModel model(Scope(all), recipe.model);
  Trainables zeros(*backend, all, DType::f32, Trainables::Gradients::none);
  zeros.refresh(*backend);
  EXPECT_NEAR(task.validate({model, *backend, DType::f32}).loss,
              std::log(static_cast<double>(recipe.model.source_vocabulary)), 1e-5);
}

TEST_F(MaskedModelTraining, RefusesWhatMakesNoSense) {
  Recipe recipe = masked_recipe();
  masked(recipe).masking.chosen = 0.0;
  EXPECT_THAT(refusal(recipe), HasSubstr("data.mask_share is 0"));
  recipe = masked_recipe();
  masked(recipe).masking.unit = MaskUnit::words;
  EXPECT_THAT(refusal(recipe), HasSubstr("data.whole_words needs tokens that are words"));
  recipe = masked_recipe();
  recipe.model.architecture = Architecture::causal_lm;
  EXPECT_THAT(refusal(recipe), HasSubstr("training.task \"masked-lm\" trains an encoder"));
  recipe = masked_recipe();
  masked(recipe).tokenizer.file = file("no-mask.tokenizer");
  save_tokenizer(
      *make_text_tokenizers(masked_recipe().of<MaskedModelRecipe>().tokenizer, text_split(masked(recipe).data).train)
           .front(),
      file("no-mask.tokenizer"));
  EXPECT_THAT(refusal(recipe), HasSubstr("tokenizer.mask: the tokenizer has no token \"<mask>\""));
}

}  // namespace
}  // namespace heed::test
