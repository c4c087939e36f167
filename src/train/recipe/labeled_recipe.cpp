#include "train/recipe/labeled_recipe.h"

#include <algorithm>
#include <utility>

#include "text/tokenizer_training.h"
#include "train/recipe/recipe_checks.h"
#include "train/tasks/labeled_task.h"

namespace heed {
namespace {

constexpr int64_t kUsualText = 32;  // tokens; an estimate

SettingTable labeled_settings(LabeledDataRecipe& data, std::vector<Setting> own) {
  SettingTable table{"data",
                     {file_setting("train", data.train), file_setting("validation", data.validation),
                      setting("batch_sequences", data.batch_sequences)},
                     {}};
  std::ranges::move(own, std::back_inserter(table.settings));
  return table;
}

void check_labeled(const LabeledRecipe& recipe) {
  const LabeledDataRecipe& data = recipe.data;
  check(!data.train.empty(), "data.train names no file");
  check(std::ranges::count(data.train, "-") + std::ranges::count(data.validation, "-") == 0,
        "data.train and data.validation must name files, not the standard input (-)");
  check_at_least("data.batch_sequences", data.batch_sequences, 1);
  check_tokenizer(recipe.tokenizer.learned);
}

}  // namespace

BatchSize LabeledRecipe::batch_size(int64_t length) const {
  return {data.batch_sequences, length == 0 ? kUsualText : length};
}

std::vector<int64_t> LabeledRecipe::vocabulary_sizes() const {
  if (tokenizer.file.empty() && learns_pieces(tokenizer.learned.kind)) {
    return {tokenizer.learned.vocabulary};
  }
  return {make_tokenizers().front()->vocabulary_size()};
}

std::unique_ptr<Task> LabeledRecipe::make_task(const Recipe& recipe, const TaskSetup& setup) const {
  return std::make_unique<LabeledTask>(recipe, setup);
}

Tokenizers LabeledRecipe::make_tokenizers() const {
  if (!tokenizer.file.empty()) {
    return {load_tokenizer(tokenizer.file)};
  }
  const std::vector<std::string> texts = training_texts();
  auto next = texts.begin();
  return {train_tokenizer(tokenizer.learned, [&](std::string& line) {
    const bool more = next != texts.end();
    if (more) {
      line = *next++;
    }
    return more;
  })};
}

void ClassifyRecipe::set_defaults(Recipe& recipe) const {
  recipe.training.smoothing = 0.0;
  recipe.model.head = Head::one_label;
}

std::vector<SettingTable> ClassifyRecipe::settings() {
  return {labeled_settings(data, {flag("pairs", data.columns, TextColumns::one, TextColumns::pair),
                                  choice<TooLong>("too_long", data.too_long,
                                                  {{"truncate", TooLong::truncate}, {"refuse", TooLong::refuse}})}),
          text_tokenizer_settings(tokenizer)};
}

void ClassifyRecipe::validate(const Recipe& recipe) const {
  check_labeled(*this);
  const Head head = recipe.model.head;
  check(head == Head::one_label || head == Head::several_labels || head == Head::number,
        "the task classify needs model.head \"label\", \"labels\" or \"number\"");
  // A tokenizer from elsewhere may tell no types apart (RoBERTa).
  check(data.columns == TextColumns::one || recipe.model.token_types != 1 || takes_tokenizers(recipe),
        "model.token_types is 1, but data.pairs tells two types apart: set it to 2, or to 0 for none");
  check(head == Head::one_label || recipe.training.smoothing == 0.0,
        "training.smoothing is {}, but only model.head \"label\" can be smoothed", recipe.training.smoothing);
}

std::vector<std::string> ClassifyRecipe::training_texts() const {
  std::vector<std::string> texts;
  for (LabeledText& text : read_labeled_texts(data.train, data.columns)) {
    texts.push_back(std::move(text.first));
    if (data.columns == TextColumns::pair) {
      texts.push_back(std::move(text.second));
    }
  }
  return texts;
}

void TagRecipe::set_defaults(Recipe& recipe) const {
  recipe.training.smoothing = 0.0;
  recipe.model.head = Head::token_labels;
}

std::vector<SettingTable> TagRecipe::settings() {
  return {labeled_settings(data, {choice<WordFormat>("format", data.format, kWordFormatNames)}),
          text_tokenizer_settings(tokenizer)};
}

void TagRecipe::validate(const Recipe& recipe) const {
  check_labeled(*this);
  check(recipe.model.head == Head::token_labels, "the task tag needs model.head \"token-labels\"");
}

std::vector<std::string> TagRecipe::training_texts() const {
  std::vector<std::string> texts;
  for (const LabeledWords& sentence : read_labeled_words(data.train, data.format)) {
    texts.push_back(fmt::format("{}", fmt::join(sentence.words, " ")));
  }
  return texts;
}

}  // namespace heed
