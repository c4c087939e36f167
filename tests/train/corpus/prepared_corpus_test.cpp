#include "train/corpus/prepared_corpus.h"

#include <gmock/gmock.h>

#include <chrono>
#include <utility>

#include "train/corpus/prepare.h"
#include "train/recipe/labeled_recipe.h"
#include "train/recipe/masked_model_recipe.h"
#include "train/tasks/language_model_testing.h"

namespace heed::test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

class PreparedTest : public TextTrainingTest {
 protected:
  Recipe prepared_from(const Recipe& recipe, const std::string& name = "prepared") {
    prepare_corpus(recipe, folder_ / name, 2);
    Recipe prepared = recipe;
    prepared.prepared = file(name);
    return prepared;
  }

  // The text that a recipe names, out of the way and back.
  static void hide_text(const Recipe& recipe) {
    for (const RecipeFile& text : recipe.task->files()) {
      fs::rename(text.name, text.name + ".hidden");
    }
  }
  static void bring_back_text(const Recipe& recipe) {
    for (const RecipeFile& text : recipe.task->files()) {
      fs::rename(text.name + ".hidden", text.name);
    }
  }

  // The rest of the message that begins like this.
  static std::string words_after(const std::string& beginning, const Listening& heard) {
    const auto it = std::ranges::find_if(heard.messages,
                                         [&](const std::string& message) { return message.starts_with(beginning); });
    return it == heard.messages.end() ? "no message: " + beginning : it->substr(beginning.size());
  }

  // Trains with the text, and without it from a prepared corpus.
  void expect_same_bits(const Recipe& recipe) {
    listening_ = {};
    train(recipe, "text");
    const Listening from_text = std::exchange(listening_, {});
    const Recipe prepared = prepared_from(recipe);
    hide_text(recipe);
    train(prepared, "stored");
    bring_back_text(recipe);
    EXPECT_EQ(weights("stored"), weights("text"));
    ASSERT_EQ(listening_.validations.size(), from_text.validations.size());
    EXPECT_EQ(listening_.validations.back().scores.value, from_text.validations.back().scores.value);
    EXPECT_EQ(words_after("training text (prepared): ", listening_), words_after("training text: ", from_text));
    fs::remove_all(folder_ / "prepared");
    fs::remove_all(folder_ / "text");
    fs::remove_all(folder_ / "stored");
    listening_ = {};
  }

  std::string refusal(const Recipe& recipe) {
    try {
      train(recipe, "refused");
    } catch (const InternalError&) {
      throw;
    } catch (const Error& error) {
      EXPECT_FALSE(fs::exists(folder_ / "refused")) << "something was left behind";
      return error.what();
    }
    fs::remove_all(folder_ / "refused");
    return "no error";
  }

  Recipe masked_recipe() const {
    const Recipe causal = text_recipe();
    Recipe recipe = default_recipe(task_named("masked-lm"));
    recipe.model.model = 32;
    recipe.model.inner = 64;
    recipe.model.heads = 2;
    recipe.model.encoder_layers = 1;
    recipe.model.max_length = 32;
    recipe.of<MaskedModelRecipe>().data = causal.of<LanguageModelRecipe>().data;
    recipe.of<MaskedModelRecipe>().data.documents = Documents::lines;
    recipe.of<MaskedModelRecipe>().tokenizer = causal.of<LanguageModelRecipe>().tokenizer;
    recipe.training.updates = 9;
    recipe.validation.every = 8;
    return recipe;
  }

  Recipe labeled_recipe(std::string_view name, Head head, const std::string& text) {
    write_file(folder_ / "labeled.train", text + text);
    write_file(folder_ / "labeled.valid", text);
    Recipe recipe = default_recipe(task_named(name));
    recipe.model.model = 32;
    recipe.model.inner = 64;
    recipe.model.heads = 2;
    recipe.model.encoder_layers = 1;
    recipe.model.max_length = 16;
    recipe.model.head = head;
    auto& own = recipe.of<LabeledRecipe>();
    own.data.train = {file("labeled.train")};
    own.data.validation = {file("labeled.valid")};
    own.data.batch_sequences = 3;
    own.tokenizer.learned.kind = TokenizerKind::character;
    own.tokenizer.learned.vocabulary = 0;
    recipe.training.updates = 9;
    recipe.validation.every = 8;
    return recipe;
  }
};

TEST_F(PreparedTest, TranslationHasTheSameBitsAsFromTheText) {
  Recipe recipe = small_recipe();
  expect_same_bits(recipe);
  // Two tokenizers, and subwords that are drawn anew for each update; filters that drop lines, several files.
  task(recipe).tokenizer.learned.kind = TokenizerKind::bpe;
  task(recipe).tokenizer.learned.vocabulary = 400;
  task(recipe).tokenizer.shared = false;
  recipe.model.tying = Tying::output;
  task(recipe).tokenizer.source_dropout = 0.2;
  task(recipe).tokenizer.target_dropout = 0.1;
  task(recipe).data.rules.duplicates = Duplicates::drop;
  task(recipe).data.train_source = {file("train.de"), file("valid.de"), file("train.de")};
  task(recipe).data.train_target = {file("train.en"), file("valid.en"), file("train.en")};
  task(recipe).data.validation_source.clear();
  task(recipe).data.validation_target.clear();
  recipe.checkpoints.final_weights = FinalWeights::last;
  recipe.training.accumulate = 2;
  train(recipe, "text");
  const Recipe prepared = prepared_from(recipe);
  train(prepared, "stored");
  EXPECT_EQ(weights("stored"), weights("text"));
}

TEST_F(PreparedTest, LanguageModelsHaveTheSameBitsAsFromTheText) {
  Recipe recipe = text_recipe();
  text(recipe).tokenizer.learned.kind = TokenizerKind::bpe;
  text(recipe).tokenizer.learned.vocabulary = 300;
  expect_same_bits(recipe);
  text(recipe).data.documents = Documents::lines;
  text(recipe).data.validation.clear();
  text(recipe).data.validation_share = 0.1;
  expect_same_bits(recipe);
}

TEST_F(PreparedTest, MaskedModelsHaveTheSameBitsAsFromTheText) { expect_same_bits(masked_recipe()); }

TEST_F(PreparedTest, LabelledTextsHaveTheSameBitsAsFromTheText) {
  expect_same_bits(labeled_recipe("classify", Head::one_label, "abc\tyes\nbcd ef\tno\nfed\tyes\ncc c\tmaybe\n"));
  expect_same_bits(labeled_recipe("classify", Head::several_labels, "abc\tx,y\nbcd ef\t\nfed\ty\ncc c\tz\n"));
  expect_same_bits(labeled_recipe("classify", Head::number, "abc\t0.5\nbcd ef\t-1\nfed\t2\ncc c\t0.25\n"));
  Recipe pairs = labeled_recipe("classify", Head::one_label, "abc\tabd\tyes\nbcd ef\tfe\tno\nfed\tf\tyes\n");
  pairs.of<LabeledRecipe>().data.columns = TextColumns::pair;
  pairs.model.token_types = 2;
  expect_same_bits(pairs);
  expect_same_bits(labeled_recipe("tag", Head::token_labels, "ab X\nbc Y\n\ncd X\nde Z\nef X\n\nfg Y\n\n"));
}

TEST_F(PreparedTest, TheTokenizersOfAStartingModelServeItToo) {
  Recipe first = small_recipe();
  train(first, "first");
  Recipe recipe = small_recipe();
  recipe.training.from = file("first");
  write_pairs("train", 200);
  expect_same_bits(recipe);
  const Recipe prepared = prepared_from(recipe);
  Recipe other = prepared;
  train(small_recipe(), "second");  // of another text
  other.training.from = file("second");
  EXPECT_THAT(refusal(other), HasSubstr("was prepared with another tokenizer than the run has"));
  other.training.from.clear();
  EXPECT_THAT(refusal(other), HasSubstr("was prepared with training.from_tokenizers = true, but the recipe has false"));
}

TEST_F(PreparedTest, ARunResumesWithOrWithoutItToTheSameBits) {
  const Recipe recipe = small_recipe();
  train(recipe, "whole");
  const Recipe prepared = prepared_from(recipe);
  const auto stop = [&](const Recipe& how, const std::string& name) {
    listening_ = {};
    listening_.stop_after = 11;
    ASSERT_EQ(train(how, name), EndReason::stopped);
    listening_ = {};
  };
  stop(recipe, "joins");
  hide_text(recipe);
  train(prepared, "joins", TrainStart::resume);
  EXPECT_EQ(weights("joins"), weights("whole"));

  bring_back_text(recipe);
  stop(prepared, "remembers");
  hide_text(recipe);
  train(recipe, "remembers", TrainStart::resume);
  EXPECT_EQ(weights("remembers"), weights("whole"));
  EXPECT_THAT(read_file(folder_ / "remembers" / "recipe.toml"), HasSubstr("prepared = \"" + prepared.prepared));

  bring_back_text(recipe);
  stop(prepared, "loses");
  fs::remove_all(prepared.prepared);
  train(recipe, "loses", TrainStart::resume);
  EXPECT_THAT(listening_.messages, Contains(HasSubstr("is gone: reading the text")));
  EXPECT_EQ(weights("loses"), weights("whole"));
}

TEST_F(PreparedTest, ItServesSeveralReadersAtOnce) {
  const Recipe prepared = prepared_from(small_recipe());
  const PreparedCorpus one(prepared.prepared), other(prepared.prepared);
  one.require_recipe(prepared);
  other.require_recipe(prepared);
  EXPECT_EQ(one.fields().number("fingerprint"), other.fields().number("fingerprint"));
  train(prepared, "run");
}

TEST_F(PreparedTest, WhatOnlyBatchesDependOnMayChange) {
  Recipe prepared = prepared_from(small_recipe());
  task(prepared).data.batches.target_tokens = 200;
  task(prepared).data.batches.pool = 50;
  task(prepared).data.memory_megabytes = 1;
  prepared.training.seed = 7;
  prepared.model.inner = 32;
  EXPECT_EQ(refusal(prepared), "no error");
}

TEST_F(PreparedTest, AnotherRecipeIsRefusedByTheKeyThatDiffers) {
  const Recipe prepared = prepared_from(small_recipe());
  const auto with = [&](auto change) {
    Recipe other = prepared;
    change(other);
    return refusal(other);
  };
  EXPECT_THAT(with([](Recipe& r) { task(r).data.max_length = 39; }),
              AllOf(HasSubstr(prepared.prepared + ": "),
                    HasSubstr("was prepared with data.max_length = 40, but the recipe has 39: prepare it again")));
  EXPECT_THAT(with([](Recipe& r) { task(r).data.rules.max_ratio = 2.0; }), HasSubstr("data.max_ratio = 0.0"));
  EXPECT_THAT(with([](Recipe& r) { task(r).tokenizer.learned.normalization.letter_case = LetterCase::lower; }),
              HasSubstr("tokenizer.normalization"));
  EXPECT_THAT(with([&](Recipe& r) { std::swap(task(r).data.train_source, task(r).data.train_target); }),
              HasSubstr("data.train_source"));
  Recipe language_model = text_recipe();
  language_model.prepared = prepared.prepared;
  EXPECT_THAT(refusal(language_model),
              HasSubstr("training.task = \"translation\", but the recipe has \"language-model\""));
}

TEST_F(PreparedTest, AnotherTextIsRefusedButNotOneThatWasOnlyTouched) {
  const Recipe recipe = small_recipe();
  const Recipe prepared = prepared_from(recipe);
  const fs::path text = folder_ / "train.de";
  const std::string content = read_file(text);
  fs::last_write_time(text, fs::last_write_time(text) + std::chrono::hours(1));
  EXPECT_EQ(refusal(prepared), "no error");
  std::string edited = content;
  std::swap(edited[0], edited[1]);
  write_file(text, edited);
  fs::last_write_time(text, fs::last_write_time(text) + std::chrono::hours(2));
  EXPECT_THAT(refusal(prepared), AllOf(HasSubstr("was prepared from another text"),
                                       HasSubstr("train.de has another content now (data.train_source)")));
  write_file(text, content + "\n");
  EXPECT_THAT(refusal(prepared),
              HasSubstr(fmt::format("had {} bytes and has {} now", content.size(), content.size() + 1)));
}

TEST_F(PreparedTest, AnythingDamagedIsRefused) {
  const Recipe prepared = prepared_from(small_recipe());
  const fs::path folder = prepared.prepared;
  for (const char* const name : {"prepared.json", "arrays.safetensors", "1.tokenizer"}) {
    const std::string content = read_file(folder / name);
    fs::remove(folder / name);
    EXPECT_THAT(refusal(prepared), AllOf(HasSubstr(prepared.prepared), Not(HasSubstr("no error")))) << name;
    for (const size_t length : {size_t{0}, content.size() / 2, content.size() - 2}) {
      write_file(folder / name, content.substr(0, length));
      EXPECT_THAT(refusal(prepared), HasSubstr((folder / name).string())) << length;
    }
    for (size_t i = 0; i < 40; ++i) {
      std::string damaged = content;
      damaged[i * (content.size() - 2) / 39] ^= 1;
      write_file(folder / name, damaged);
      EXPECT_THAT(refusal(prepared), HasSubstr((folder / name).string())) << "byte " << i * (content.size() - 2) / 39;
    }
    write_file(folder / name, content);
  }
  EXPECT_EQ(refusal(prepared), "no error");
}

TEST_F(PreparedTest, ArraysOfAnotherCorpusAreRefused) {
  Recipe recipe = small_recipe();
  const Recipe prepared = prepared_from(recipe);
  write_pairs("train", 301);
  prepared_from(recipe, "other");
  write_pairs("train", 300);
  fs::copy_file(folder_ / "other/arrays.safetensors", folder_ / "prepared/arrays.safetensors",
                fs::copy_options::overwrite_existing);
  EXPECT_THAT(refusal(prepared), HasSubstr("is not the file that prepared.json belongs to"));
}

TEST_F(PreparedTest, FoldersThatHoldNoneAreRefused) {
  Recipe recipe = small_recipe();
  recipe.prepared = file("nowhere");
  EXPECT_THAT(refusal(recipe), HasSubstr("there is no such folder of a prepared corpus"));
  recipe.prepared = folder_.string();
  EXPECT_THAT(refusal(recipe), HasSubstr("holds no prepared corpus: it has no prepared.json"));
}

std::string refusal_to_prepare(const Recipe& recipe, const fs::path& output) {
  try {
    prepare_corpus(recipe, output, 1);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST_F(PreparedTest, PreparingLeavesTheWholeFolderOrNothing) {
  Recipe recipe = small_recipe();
  prepared_from(recipe, "there/");
  EXPECT_TRUE(fs::exists(folder_ / "there" / "prepared.json"));
  EXPECT_THAT(refusal_to_prepare(recipe, folder_ / "there"), HasSubstr("exists already"));
  EXPECT_THAT(refusal_to_prepare(recipe, folder_ / "train.de"), HasSubstr("exists already"));
  EXPECT_THAT(refusal_to_prepare(recipe, folder_ / "train.de" / "in"), HasSubstr("cannot create the folder"));
  const auto expect_nothing_left = [&] {
    EXPECT_FALSE(fs::exists(folder_ / "new"));
    EXPECT_FALSE(fs::exists(folder_ / "new.partial"));
  };
  {
    Recipe again = recipe;
    again.prepared = file("there");
    EXPECT_THAT(refusal_to_prepare(again, folder_ / "new"), HasSubstr("prepared already"));
    expect_nothing_left();
  }
  task(recipe).data.rules.empty_line = Handling::refuse;
  write_file(folder_ / "train.de", read_file(folder_ / "train.de") + "\n");
  write_file(folder_ / "train.en", read_file(folder_ / "train.en") + "\n");
  EXPECT_THAT(refusal_to_prepare(recipe, folder_ / "new"), HasSubstr("the line is empty"));
  expect_nothing_left();
  task(recipe).data.train_source = {"-"};
  EXPECT_THAT(refusal_to_prepare(recipe, folder_ / "new"), HasSubstr("names the standard input"));
  task(recipe).data.train_source = {"/dev/null"};
  EXPECT_THAT(refusal_to_prepare(recipe, folder_ / "new"), HasSubstr("is not a regular file"));
  task(recipe).data.train_source = {file("missing")};
  EXPECT_THAT(refusal_to_prepare(recipe, folder_ / "new"), HasSubstr("there is no such file"));
  expect_nothing_left();
}

TEST_F(PreparedTest, WhatAKilledProcessLeftIsReplacedAndALivingOneIsNotDisturbed) {
  const fs::path partial = folder_ / "new.partial";
  fs::create_directories(partial);
  write_file(partial / "rubbish", "left behind");
  {
    const FolderLock living(partial, "busy");
    EXPECT_THAT(refusal_to_prepare(small_recipe(), folder_ / "new"), HasSubstr("another process prepares this corpus"));
    EXPECT_TRUE(fs::exists(partial / "rubbish"));
  }
  prepare_corpus(small_recipe(), folder_ / "new", 1);
  EXPECT_FALSE(fs::exists(partial));
  EXPECT_FALSE(fs::exists(folder_ / "new" / "rubbish"));
  EXPECT_TRUE(fs::exists(folder_ / "new" / "prepared.json"));
}

TEST_F(PreparedTest, ItDoesNotDependOnTheNumberOfThreads) {
  for (const int threads : {1, 3}) {
    prepare_corpus(small_recipe(), folder_ / fmt::format("by-{}", threads), threads);
  }
  for (const char* const name : {"prepared.json", "arrays.safetensors", "1.tokenizer"}) {
    EXPECT_EQ(read_file(folder_ / "by-1" / name), read_file(folder_ / "by-3" / name)) << name;
  }
}

}  // namespace
}  // namespace heed::test
