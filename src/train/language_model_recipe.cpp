#include "train/language_model_recipe.h"

#include <algorithm>

#include "train/language_model_task.h"
#include "train/recipe_checks.h"

namespace heed {
namespace {

SettingTable data_settings(TextDataRecipe& data) {
  return {
      "data",
      {setting("train", data.train), setting("validation", data.validation),
       setting("validation_share", data.validation_share),
       choice<Documents>("documents", data.documents, kDocumentNames),
       flag("cross_documents", data.borders, DocumentBorders::kept, DocumentBorders::crossed),
       setting("context", data.batches.context),
       choice<TextOrder>("order", data.batches.order, {{"packed", TextOrder::packed}, {"windows", TextOrder::windows}}),
       setting("batch_sequences", data.batches.sequences), setting("memory_megabytes", data.memory_megabytes)}};
}

SettingTable text_tokenizer_settings(TextTokenizerRecipe& tokenizer) {
  SettingTable table{"tokenizer", tokenizer_settings(tokenizer.learned)};
  table.settings.push_back(setting("file", tokenizer.file));
  return table;
}

SettingTable sample_settings(SampleRecipe& samples) {
  return {"validation",
          {setting("prompts", samples.prompts), setting("sample_tokens", samples.tokens),
           setting("temperature", samples.temperature)}};
}

constexpr int64_t kMaxMegabytes = 1 << 24;

// Files are read once for the tokenizer and once for their tokens, and once more to find where to split them.
void check_standard_input(const TextDataRecipe& data, const TextTokenizerRecipe& tokenizer) {
  const int64_t in_train = std::ranges::count(data.train, "-"),
                in_validation = std::ranges::count(data.validation, "-");
  check(in_train + in_validation <= 1, "data names the standard input (-) {} times, but it can be read only once",
        in_train + in_validation);
  check(in_train == 0 || (!tokenizer.file.empty() && data.validation_share == 0.0),
        "data.train is the standard input (-), which can be read only once: that needs tokenizer.file, and no "
        "data.validation_share");
}

void check_data(const TextDataRecipe& data) {
  check(!data.train.empty(), "data.train names no file");
  check(data.validation_share >= 0.0 && data.validation_share < 1.0,
        "data.validation_share is {}, expected at least 0 and below 1", data.validation_share);
  check(data.validation.empty() || data.validation_share == 0.0,
        "data.validation names files, and data.validation_share is {}: choose one", data.validation_share);
  check(data.borders == DocumentBorders::kept || data.documents != Documents::none,
        "data.cross_documents is true, but data.documents is \"none\"");
  check(data.batches.context >= 1, "data.context is {}, expected at least 1", data.batches.context);
  check(data.batches.sequences >= 1, "data.batch_sequences is {}, expected at least 1", data.batches.sequences);
  data.batches.validate();
  check(data.memory_megabytes >= 1 && data.memory_megabytes <= kMaxMegabytes,
        "data.memory_megabytes is {}, expected 1 to {}", data.memory_megabytes, kMaxMegabytes);
}

}  // namespace

std::vector<SettingTable> LanguageModelRecipe::settings() {
  return {data_settings(data), text_tokenizer_settings(tokenizer), sample_settings(samples)};
}

void LanguageModelRecipe::validate(const Recipe& recipe) const {
  check_data(data);
  check_tokenizer(tokenizer.learned);
  check_standard_input(data, tokenizer);
  check(samples.tokens >= 0, "validation.sample_tokens is {}, expected at least 0", samples.tokens);
  check(samples.temperature >= 0.0, "validation.temperature is {}, expected at least 0", samples.temperature);
  check(data.batches.context <= recipe.model.max_length, "data.context is {} tokens, but model.max_length is {}",
        data.batches.context, recipe.model.max_length);
}

BatchSize LanguageModelRecipe::batch_size(int64_t length) const {
  const TextBatchRules& rules = data.batches;
  return length == 0 ? BatchSize{rules.sequences, rules.context}
                     : BatchSize{std::max<int64_t>(1, rules.sequences * rules.context / length), length};
}

std::vector<int64_t> LanguageModelRecipe::vocabulary_sizes() const {
  if (tokenizer.file.empty() && learns_pieces(tokenizer.learned.kind)) {
    return {tokenizer.learned.vocabulary};
  }
  return {make_tokenizers(*this).front()->vocabulary_size()};
}

std::unique_ptr<Task> LanguageModelRecipe::make_task(const Recipe& recipe, const TaskSetup& setup) const {
  return std::make_unique<LanguageModelTask>(recipe, setup);
}

}  // namespace heed
