#include <gmock/gmock.h>

#include <cmath>

#include "checkpoint/stored_model.h"
#include "decode/texts/text_generation.h"
#include "source_root.h"
#include "train/tasks/language_model_task.h"
#include "train/tasks/language_model_testing.h"

namespace heed::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class LanguageModelTraining : public TextTrainingTest {
 protected:
  std::string refusal(const Recipe& recipe, const std::string& name = "refused", TrainStart start = TrainStart::fresh) {
    try {
      train(recipe, name, start);
    } catch (const Error& error) {
      EXPECT_TRUE(start == TrainStart::resume || !std::filesystem::exists(folder_ / name))
          << "something was left behind";
      return error.what();
    }
    return "no error";
  }
};

TEST_F(LanguageModelTraining, AResumedRunGivesTheSameBits) {
  for (const auto& [order, documents] :
       std::vector<std::pair<TextOrder, Documents>>{{TextOrder::packed, Documents::lines},
                                                    {TextOrder::windows, Documents::none},
                                                    {TextOrder::packed, Documents::none}}) {
    Recipe recipe = text_recipe();
    text(recipe).data.documents = documents;
    text(recipe).data.batches.order = order;
    recipe.checkpoints.moving_average = 0.9;
    recipe.checkpoints.final_weights = FinalWeights::average_of_last;
    recipe.training.accumulate = 2;
    const std::string name = fmt::format("{}-{}", static_cast<int>(order), static_cast<int>(documents));
    train(recipe, name);
    for (const int64_t stop : {1, 8, 19}) {
      const std::string stopped = fmt::format("{}-{}", name, stop);
      listening_.asked = 0;
      listening_.stop_after = stop;
      EXPECT_EQ(train(recipe, stopped), EndReason::stopped);
      listening_.stop_after = -1;
      EXPECT_EQ(train(recipe, stopped, TrainStart::resume), EndReason::updates);
      EXPECT_EQ(weights(stopped), weights(name));
    }
    recipe.training.seed = 2;
    train(recipe, name + "-other");
    EXPECT_NE(weights(name + "-other"), weights(name));
  }
}

// With learned positions, those that no batch has reached yet have no gradient.
TEST_F(LanguageModelTraining, AResumedRunOfGrowingBatchesGivesTheSameBits) {
  Recipe recipe = text_recipe();
  text(recipe).data.batches.order = TextOrder::windows;
  train(recipe, "constant");
  const int64_t last = text(recipe).data.batches.context;
  text(recipe).data.growth = {.updates = {5, 10}, .sequences = {1, 2}, .contexts = {last / 4, last / 2}};
  train(recipe, "unbroken");
  EXPECT_NE(weights("unbroken"), weights("constant"));
  for (const int64_t stop : {4, 5, 9, 12}) {
    const std::string stopped = fmt::format("stopped-{}", stop);
    listening_.asked = 0;
    listening_.stop_after = stop;
    EXPECT_EQ(train(recipe, stopped), EndReason::stopped);
    listening_.stop_after = -1;
    EXPECT_EQ(train(recipe, stopped, TrainStart::resume), EndReason::updates);
    EXPECT_EQ(weights(stopped), weights("unbroken")) << stop;
  }
}

TEST_F(LanguageModelTraining, LossesOfLaterTokensFadeAndAResumedRunGivesTheSameBits) {
  Recipe recipe = text_recipe();
  train(recipe, "next alone");
  text(recipe).ahead = {.weights = {0.5, 0.25}, .updates = 8};
  train(recipe, "unbroken");
  EXPECT_NE(weights("unbroken"), weights("next alone"));
  listening_.asked = 0;
  listening_.stop_after = 5;
  EXPECT_EQ(train(recipe, "stopped"), EndReason::stopped);
  listening_.stop_after = -1;
  EXPECT_EQ(train(recipe, "stopped", TrainStart::resume), EndReason::updates);
  EXPECT_EQ(weights("stopped"), weights("unbroken"));
  text(recipe).ahead.updates = 0;
  train(recipe, "staying");
  EXPECT_NE(weights("staying"), weights("unbroken"));
}

TEST_F(LanguageModelTraining, RecomputedActivationsChangeNoBit) {
  Recipe recipe = text_recipe();
  train(recipe, "kept");
  recipe.model.recompute = Recompute::layers;
  train(recipe, "recomputed");
  const auto backend = make_cpu_backend(1);
  EXPECT_EQ(listening_.validations.at(2).scores.loss, listening_.validations.at(5).scores.loss);
}

TEST_F(LanguageModelTraining, WritesAModelWithOneTokenizer) {
  Recipe recipe = text_recipe();
  text(recipe).data.documents = Documents::files;
  train(recipe, "run");
  const auto backend = make_cpu_backend(1);
  const StoredModel stored({folder_ / "run"}, *backend, DType::f32);
  EXPECT_EQ(stored.config().architecture, Architecture::causal_lm);
  EXPECT_EQ(stored.text().kind(), TokenizerKind::character);
  EXPECT_EQ(stored.documents(), Documents::files);
  EXPECT_TRUE(stored.text().find("<U+000A>").has_value());
}

// A model that gives each token the same probability has the logarithm of their number as its loss, whatever the text.
TEST_F(LanguageModelTraining, CountsNatsPerTokenAndBitsPerByte) {
  const std::string umlauts =
      "\u00e4\u00f6\u00fc\nab\u00e4\u00f6\n\u00fcb\n\n\u00e4\u00e4\u00f6\n";  // 17 characters, 26 bytes
  write_file(folder_ / "umlauts.txt", umlauts);
  for (const Documents documents : {Documents::none, Documents::lines}) {
    Recipe recipe = text_recipe();
    text(recipe).data.train = text(recipe).data.validation = {file("umlauts.txt")};
    text(recipe).data.documents = documents;
    text(recipe).data.batches = {.context = 5, .sequences = 2};
    const LanguageModelTask task(recipe, {});
    const auto vocabulary = task.tokenizers().front()->vocabulary_size();
    EXPECT_EQ(vocabulary, 5 + 6);
    recipe.model.target_vocabulary = vocabulary;
    const auto backend = make_cpu_backend(1);
    Weights all;
    const AnyModel model(Scope(all), recipe.model);
    Trainables zeros(*backend, all, DType::f32, Trainables::Gradients::none);
    zeros.refresh(*backend);
    const Scores scores = task.validate({model, *backend, DType::f32});
    const double nats = std::log(static_cast<double>(vocabulary));
    EXPECT_NEAR(scores.loss, nats, 1e-5);
    EXPECT_EQ(scores.value, -scores.loss);
    // 16 characters and line breaks of the stream; in documents 12 characters and 4 ends.
    EXPECT_EQ(task.sizes(), (std::vector<std::pair<std::string, int64_t>>{
                                {"train_tokens", documents == Documents::none ? 17 : 20},
                                {"train_bytes", 26},
                                {"validation_tokens", documents == Documents::none ? 17 : 20},
                                {"validation_bytes", 26},
                                {"validation_trained_on", 0},
                                {"validation_lines_trained_on", 0}}))
        << "lines this short may well come twice";
    const double predicted = documents == Documents::none ? 17.0 : 16.0;
    EXPECT_NEAR(scores.find("bits_per_byte")->value, nats / std::log(2.0) * predicted / 26.0, 1e-5);
  }
}

// How a task describes the overlap of these texts, and the two counts of its sizes.
struct DescribedOverlap {
  std::string text;
  int64_t documents, lines;
};

class LanguageModelOverlap : public LanguageModelTraining {
 protected:
  DescribedOverlap overlap(Documents documents, const std::vector<std::string>& train,
                           const std::vector<std::string>& validation) {
    Recipe recipe = text_recipe();
    text(recipe).data.train = written("train", train);
    text(recipe).data.validation = written("validation", validation);
    text(recipe).data.documents = documents;
    text(recipe).data.batches = {.context = 5, .sequences = 2};
    const LanguageModelTask task(recipe, {});
    const auto sizes = task.sizes();
    const std::string all = task.describe_text();
    const size_t begin = all.find(begin_);
    return {begin == std::string::npos ? "" : all.substr(begin), sizes[4].second, sizes[5].second};
  }

  const std::string a_ = "a line that is long enough to be no coincidence\n";
  const std::string b_ = "another line that is long enough, not in training\n";
  const std::string begin_ = "; found in the training text too: ", end_ = " of at least about 32 bytes";

 private:
  std::vector<std::string> written(const std::string& name, const std::vector<std::string>& texts) {
    std::vector<std::string> files;
    for (const std::string& text : texts) {
      files.push_back(file(fmt::format("{}{}.txt", name, files.size())));
      write_file(files.back(), text);
    }
    return files;
  }
};

TEST_F(LanguageModelOverlap, CountsTheLinesOfAStream) {
  const auto [text, documents, lines] =
      overlap(Documents::none, {"first\n" + a_ + "last\n"}, {"first\n" + b_ + a_, b_ + a_});
  EXPECT_EQ(text, begin_ + "2 of 4 lines" + end_);
  EXPECT_EQ(documents, 0);
  EXPECT_EQ(lines, 2);
}

TEST_F(LanguageModelOverlap, CountsDocumentsOfOneLineEach) {
  const auto [text, documents, lines] =
      overlap(Documents::lines, {"first\n" + a_ + "last\n"}, {"first\n" + b_ + a_ + b_ + a_});
  EXPECT_EQ(text, begin_ + "2 of 4 documents" + end_);
  EXPECT_EQ(documents, 2);
  EXPECT_EQ(lines, 0);
}

TEST_F(LanguageModelOverlap, CountsFilesAndTheirLines) {
  const std::string whole = "first\n" + a_ + "last\n";
  const auto [text, documents, lines] =
      overlap(Documents::files, {whole, "something else that nobody asks for\n"}, {whole, b_ + a_, a_ + b_});
  EXPECT_EQ(text, begin_ + "1 of 3 documents, 3 of 5 lines" + end_);
  EXPECT_EQ(documents, 1);
  EXPECT_EQ(lines, 3);
}

TEST_F(LanguageModelOverlap, CountsDocumentsBetweenBlankLinesAndTheirLines) {
  const std::string whole = "first\n" + a_ + "last\n";
  const auto [text, documents, lines] =
      overlap(Documents::blank_lines, {whole + "\nsomething else that nobody asks for\n"},
              {whole + "\n" + b_ + a_ + "\n" + b_});
  EXPECT_EQ(text, begin_ + "1 of 3 documents, 2 of 4 lines" + end_);
  EXPECT_EQ(documents, 1);
  EXPECT_EQ(lines, 2);
}

TEST_F(LanguageModelOverlap, IsNotMentionedWhenThereIsNone) {
  for (const Documents form : {Documents::none, Documents::lines, Documents::files, Documents::blank_lines}) {
    const auto [text, documents, lines] = overlap(form, {"first\n" + b_}, {"first\n" + a_ + "\nlast\n"});
    EXPECT_EQ(text, "");
    EXPECT_EQ(documents + lines, 0);
  }
}

TEST_F(LanguageModelOverlap, DoesNotCountPartsWithUnknownWords) {
  const std::string known = "some words that are there twice and then one that is not ";
  Recipe recipe = text_recipe();
  write_file(folder_ / "train.txt", known + "first\n" + known + "second\n");
  write_file(folder_ / "validation.txt", known + "third\n");
  text(recipe).data.train = {file("train.txt")};
  text(recipe).data.validation = {file("validation.txt")};
  text(recipe).data.batches = {.context = 5, .sequences = 2};
  text(recipe).tokenizer.learned.kind = TokenizerKind::word;
  text(recipe).tokenizer.learned.minimum_count = 2;
  for (const Documents form : {Documents::none, Documents::lines}) {
    text(recipe).data.documents = form;
    EXPECT_THAT(LanguageModelTask(recipe, {}).describe_text(), testing::Not(HasSubstr(begin_)));
  }
}

TEST_F(LanguageModelOverlap, IsFoundInAValidationShareToo) {
  Recipe recipe = text_recipe();
  write_file(folder_ / "all.txt", a_ + b_ + b_ + a_);
  text(recipe).data.train = {file("all.txt")};
  text(recipe).data.validation = {};
  text(recipe).data.validation_share = 0.5;
  text(recipe).data.batches = {.context = 5, .sequences = 2};
  EXPECT_THAT(LanguageModelTask(recipe, {}).describe_text(), HasSubstr("2 of 2 lines"));
}

TEST_F(LanguageModelTraining, ValidatesTheEndOfTheTextLikeAFileOfItsOwn) {
  const std::string all = repeated_words(3, 101);  // 1,010 characters
  const auto cut = static_cast<size_t>(std::floor(0.9 * static_cast<double>(all.size())));
  write_file(folder_ / "all.txt", all);
  write_file(folder_ / "first.txt", all.substr(0, cut));
  write_file(folder_ / "second.txt", all.substr(cut));
  Recipe recipe = text_recipe();
  text(recipe).data.train = {file("first.txt")};
  text(recipe).data.validation = {file("second.txt")};
  train(recipe, "files");
  text(recipe).data.train = {file("all.txt")};
  text(recipe).data.validation = {};
  text(recipe).data.validation_share = 0.1;
  train(recipe, "share");
  EXPECT_EQ(weights("share"), weights("files"));
  EXPECT_EQ(listening_.validations.at(0).scores.loss, listening_.validations.at(3).scores.loss);
}

TEST_F(LanguageModelTraining, MakesEachBatchAShardOfTheUpdate) {
  Recipe recipe = text_recipe();
  recipe.training.accumulate = 3;
  LanguageModelTask task(recipe, {});
  const Update update = task.next_update(0);
  EXPECT_EQ(update.shards.size(), 3U);
  EXPECT_EQ(update.examples.size(), 24U);
  EXPECT_EQ(task.examples(), 200);  // 4,000 characters, of which the last is fed to nothing
  EXPECT_GE(update.targets(), 3 * 8 * 20 - 1);
  // A line has ten characters.
  const int64_t first = update.examples.front(), last = std::min<int64_t>(first + 20, 3999) - 1;
  EXPECT_THAT(task.list_origins(update),
              testing::StartsWith(fmt::format("{}:{} to {}\n", file("train.txt"), first / 10 + 1, last / 10 + 1)));
}

TEST_F(LanguageModelTraining, LearnsWordsWithTheirLineBreaks) {
  std::string words;
  for (int i = 0; i < 50; ++i) {
    words += "a man walks\nin the park\n";
  }
  write_file(folder_ / "words.txt", words);
  Recipe recipe = text_recipe();
  text(recipe).data.train = {file("words.txt")};
  text(recipe).data.validation = {};
  text(recipe).data.validation_share = 0.5;
  text(recipe).tokenizer.learned.kind = TokenizerKind::word;
  const LanguageModelTask task(recipe, {});
  EXPECT_TRUE(task.tokenizers().front()->find("<U+000A>").has_value());
  text(recipe).data.documents = Documents::lines;
  const LanguageModelTask lines(recipe, {});
  EXPECT_FALSE(lines.tokenizers().front()->find("<U+000A>").has_value());
}

TEST_F(LanguageModelTraining, WritesSamplesAtEachValidation) {
  Recipe recipe = text_recipe();
  text(recipe).samples = {.prompts = {"abcd:", "hgfe:hg"}, .tokens = 30, .temperature = 0.5};
  train(recipe, "run");
  ASSERT_EQ(listening_.validations.size(), 3U);
  for (const ValidationStatus& validation : listening_.validations) {
    ASSERT_EQ(validation.scores.samples.size(), 2U);
    EXPECT_EQ(validation.scores.samples[1].prompt, "hgfe:hg");
    EXPECT_EQ(validation.scores.samples[1].text.size(), 30U);
    EXPECT_EQ(validation.scores.samples[1].text.find_first_not_of("abcdefgh:\n"), std::string::npos);
  }
  EXPECT_NE(listening_.validations[0].scores.samples[0].text, listening_.validations[2].scores.samples[0].text);
  EXPECT_THAT(read_file(folder_ / "run" / "metrics.jsonl"), HasSubstr("\"prompt\":\"hgfe:hg\""));
  // Samples do not change the training.
  text(recipe).samples = {.tokens = 0};
  train(recipe, "silent");
  EXPECT_TRUE(listening_.validations.back().scores.samples.empty());
  EXPECT_EQ(weights("silent"), weights("run"));
  text(recipe).samples = {.tokens = 7};
  train(recipe, "from-the-beginning");
  ASSERT_EQ(listening_.validations.back().scores.samples.size(), 1U);
  EXPECT_EQ(listening_.validations.back().scores.samples[0].text.size(), 7U);
}

TEST_F(LanguageModelTraining, SamplesAreTheTextsOfTheRecipesPromptsTemperatureAndSeedEachTime) {
  for (const Documents documents : {Documents::none, Documents::lines}) {
    Recipe recipe = text_recipe();
    recipe.training.seed = 7;
    text(recipe).data.documents = documents;
    // The second is longer than the model takes, and is cut from the left.
    text(recipe).samples = {.prompts = {"abcd:", repeated_words(4, 5)}, .tokens = 12, .temperature = 0.5};
    const LanguageModelTask task(recipe, {});
    recipe.model.target_vocabulary = task.tokenizers().front()->vocabulary_size();
    const auto backend = make_cpu_backend(1);
    Weights all;
    const AnyModel model(Scope(all), recipe.model);
    Trainables trainables(*backend, all, DType::f32, Trainables::Gradients::none);
    trainables.initialize(*backend, 3);
    backend->scale(trainables.masters(), 1.3);
    trainables.refresh(*backend);
    Scheduler scheduler({model, *backend, DType::f32});
    const auto expected = generate_texts(
        {scheduler, *task.tokenizers().front(), documents}, text(recipe).samples.prompts,
        {.sampling = {.temperature = 0.5, .seed = 7}, .max_tokens = 12, .stop = {}, .too_long = TooLong::truncate},
        [](size_t) { return "prompt"; });
    for (int validation = 0; validation < 2; ++validation) {
      const std::vector<Sample> samples = task.validate({model, *backend, DType::f32}).samples;
      ASSERT_EQ(samples.size(), 2U);
      for (size_t i = 0; i < 2; ++i) {
        EXPECT_EQ(samples[i].prompt, text(recipe).samples.prompts[i]);
        EXPECT_EQ(samples[i].text, expected[i].front().text);
      }
    }
    backend->fill(trainables.masters(), std::nan(""));
    const Scores scores = task.validate({model, *backend, DType::f32});
    EXPECT_FALSE(std::isfinite(scores.loss));
    EXPECT_TRUE(scores.samples.empty());
  }
}

TEST_F(LanguageModelTraining, NamesTheLinesOfABatchThatFails) {
  Recipe recipe = text_recipe();
  recipe.schedule = {.kind = ScheduleKind::constant, .peak = 1e30, .warmup = 0};
  try {
    train(recipe, "run");
    FAIL() << "a rate of 1e30 went unnoticed";
  } catch (const NumericError& error) {
    EXPECT_THAT(error.what(), testing::Not(HasSubstr("-nan")));
    EXPECT_THAT(error.what(), testing::ContainsRegex("its text is .*/train\\.txt:[0-9]+ to [0-9]+, "));
  }
  EXPECT_THAT(read_file(folder_ / "run" / "failed-batch.txt"),
              testing::ContainsRegex("^/.*/train\\.txt:[0-9]+ to [0-9]+\n"));
}

TEST_F(LanguageModelTraining, RefusesUnusableText) {
  const auto with = [&](const std::string& content, auto... change) {
    write_file(folder_ / "other.txt", content);
    Recipe recipe = text_recipe();
    text(recipe).data.train = {file("other.txt")};
    (change(recipe), ...);
    return refusal(recipe);
  };
  EXPECT_THAT(with(""), HasSubstr("other.txt: the file is empty"));
  EXPECT_THAT(with("\n\n", [](Recipe& r) { text(r).data.documents = Documents::lines; }),
              HasSubstr("other.txt: there is no text to learn a vocabulary from"));
  const auto keep_half = [](Recipe& r) {
    text(r).data.validation.clear();
    text(r).data.validation_share = 0.5;
    text(r).data.documents = Documents::files;
  };
  EXPECT_THAT(with(repeated_words(1, 9), keep_half),
              HasSubstr("other.txt: no document begins in the part that is kept for validation"));
  EXPECT_THAT(with("\n\n",
                   [](Recipe& r) {
                     text(r).data.documents = Documents::lines;
                     text(r).tokenizer.learned.kind = TokenizerKind::byte;
                   }),
              HasSubstr("other.txt: holds no text"));
  EXPECT_EQ(with("too short\n"), "the training text: 9 tokens to be predicted, fewer than the context of 20");
  EXPECT_THAT(with("good\nb\xff\n"), HasSubstr("other.txt:2: byte 2 of the line is not UTF-8"));
  EXPECT_THAT(with(repeated_words(1, 9), [&](Recipe& r) { text(r).data.validation = {file("none.txt")}; }),
              HasSubstr("none.txt: cannot open"));
}

TEST_F(LanguageModelTraining, RefusesInvalidRecipes) {
  const auto with = [&](auto change) {
    Recipe recipe = text_recipe();
    change(recipe, text(recipe).data);
    return refusal(recipe);
  };
  using Data = TextDataRecipe;
  EXPECT_THAT(with([](Recipe&, Data& d) { d.train = {}; }), HasSubstr("data.train names no file"));
  EXPECT_THAT(with([](Recipe&, Data& d) { d.batches.context = 33; }),
              HasSubstr("data.context is 33 tokens, but model.max_length is 32"));
  EXPECT_THAT(with([](Recipe&, Data& d) { d.batches.context = 0; }), HasSubstr("data.context is 0"));
  EXPECT_THAT(with([](Recipe&, Data& d) { d.batches.sequences = 0; }), HasSubstr("data.batch_sequences is 0"));
  EXPECT_THAT(with([](Recipe&, Data& d) { d.validation_share = 0.5; }), HasSubstr("choose one"));
  EXPECT_THAT(with([](Recipe&, Data& d) { d.validation_share = 1.0; }), HasSubstr("data.validation_share is 1"));
  EXPECT_THAT(with([](Recipe&, Data& d) { d.borders = DocumentBorders::crossed; }),
              HasSubstr("data.cross_documents is true, but data.documents is \"none\""));
  EXPECT_THAT(with([](Recipe&, Data& d) { d.memory_megabytes = 0; }), HasSubstr("data.memory_megabytes is 0"));
  EXPECT_THAT(with([](Recipe& r, Data&) { text(r).samples.tokens = -1; }), HasSubstr("validation.sample_tokens is -1"));
  EXPECT_THAT(with([](Recipe& r, Data&) { text(r).samples.temperature = -1.0; }),
              HasSubstr("validation.temperature is -1"));
  EXPECT_THAT(with([](Recipe&, Data& d) { d.train = {"-"}; }), HasSubstr("which can be read only once"));
  const auto growing = [&](const GrowthRecipe& growth, TextOrder order = TextOrder::windows, int64_t epochs = 0) {
    return with([&](Recipe& r, Data& d) {
      d.growth = growth;
      d.batches.order = order;
      r.training.epochs = epochs;
    });
  };
  EXPECT_THAT(growing({{5}, {1, 2}, {4}}), HasSubstr("data.growth_updates has 1 numbers, data.growth_sequences 2"));
  EXPECT_THAT(growing({{5}, {1}, {4}}, TextOrder::packed), HasSubstr("data.growth_updates needs data.order"));
  EXPECT_THAT(growing({{5}, {1}, {4}}, TextOrder::windows, 1), HasSubstr("but not training.epochs"));
  EXPECT_THAT(growing({{5, 5}, {1, 1}, {4, 4}}), HasSubstr("until update 5, but the one before it lasts until 5"));
  EXPECT_THAT(growing({{5}, {1}, {1000}}), HasSubstr("growth has a context of 1000"));
  EXPECT_THAT(with([](Recipe&, Data& d) { d.train = d.validation = {"-"}; }), HasSubstr("2 times"));
  EXPECT_THAT(with([](Recipe& r, Data&) { text(r).ahead.weights = {0.5, -1.0}; }), HasSubstr("training.ahead has -1"));
  EXPECT_THAT(with([](Recipe& r, Data&) { text(r).ahead.weights.resize(9); }),
              HasSubstr("training.ahead has 9 weights, expected at most 8"));
  EXPECT_THAT(with([](Recipe& r, Data&) { text(r).ahead.updates = 5; }),
              HasSubstr("training.ahead_updates has no effect without training.ahead"));
  EXPECT_THAT(with([](Recipe& r, Data&) {
                text(r).ahead.weights = {0.5};
                r.distil.teacher = "teacher";
              }),
              HasSubstr("training.ahead does not go with distil.teacher"));
}

TEST_F(LanguageModelTraining, RefusesToResumeWithAnotherText) {
  train(text_recipe(), "run");
  write_file(folder_ / "train.txt", repeated_words(1, 401));
  EXPECT_THAT(refusal(text_recipe(), "run", TrainStart::resume), HasSubstr("data.train: the text is not the one"));
}

TEST(LanguageModelRecipes, OfTheTutorialHaveTheParametersCountedByHand) {
  const std::filesystem::path file = source_root() / "recipes" / "tutorial-lm.toml";
  const Recipe recipe = parse_recipe(read_file(file), file.string(), {});
  Weights all;
  const AnyModel model(Scope(all), recipe.model);
  EXPECT_EQ(all.elements(), 49'665'328);
}

}  // namespace
}  // namespace heed::test
