#include "train/recipe/text_recipe.h"

#include <algorithm>
#include <utility>

#include "text/lines/text_pair.h"
#include "text/tokenizer_training.h"
#include "train/recipe/recipe_checks.h"

namespace heed {
namespace {

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

template <class Files>
void require_training_text(const Files& files) {
  check(!files.empty(), "data.train names no file");
}

TextRules rules_of(const TextDataRecipe& data, const std::vector<std::string>& files) {
  return {.files = {files.begin(), files.end()}, .documents = data.documents, .columns = data.columns};
}

// Words and wordpieces are found between white space, so the line break is a token only if it is a user symbol.
TokenizerTraining with_line_break(TokenizerTraining recipe) {
  const bool loses_it = recipe.kind == TokenizerKind::word || recipe.kind == TokenizerKind::wordpiece;
  if (loses_it && std::ranges::count(recipe.user_symbols, "\n") == 0) {
    recipe.user_symbols.emplace_back("\n");
  }
  return recipe;
}

}  // namespace

TextBatchRules TextDataRecipe::batch_rules() const {
  TextBatchRules rules = batches;
  for (size_t i = 0; i < growth.updates.size(); ++i) {
    rules.growth.push_back({growth.updates[i], {growth.sequences[i], growth.contexts[i]}});
  }
  return rules;
}

SettingTable text_data_settings(TextDataRecipe& data) {
  return {
      "data",
      {file_setting("train", data.train), file_setting("validation", data.validation),
       setting("validation_share", data.validation_share),
       choice<Documents>("documents", data.documents, kDocumentNames),
       flag("cross_documents", data.borders, DocumentBorders::kept, DocumentBorders::crossed),
       setting("context", data.batches.context),
       choice<TextOrder>("order", data.batches.order, {{"packed", TextOrder::packed}, {"windows", TextOrder::windows}}),
       setting("batch_sequences", data.batches.sequences), setting("memory_megabytes", data.memory_megabytes)}};
}

SettingTable text_tokenizer_settings(TextTokenizerRecipe& tokenizer) {
  SettingTable table{"tokenizer", tokenizer_settings(tokenizer.learned)};
  table.settings.push_back(file_setting("file", tokenizer.file));
  return table;
}

std::vector<RecipeFile> text_files(const std::vector<std::string>& train, const std::vector<std::string>& validation,
                                   const std::string& tokenizer) {
  std::vector<RecipeFile> files;
  add_files(files, "data.train", train);
  add_files(files, "data.validation", validation);
  if (!tokenizer.empty()) {
    files.push_back({"tokenizer.file", tokenizer});
  }
  return files;
}

void check_text_data(const TextDataRecipe& data, const Recipe& recipe) {
  require_training_text(data.train);
  check_fraction("data.validation_share", data.validation_share);
  check(data.validation.empty() || data.validation_share == 0.0,
        "data.validation names files, and data.validation_share is {}: choose one", data.validation_share);
  check(data.borders == DocumentBorders::kept || data.documents != Documents::none,
        "data.cross_documents is true, but data.documents is \"none\"");
  check_at_least("data.context", data.batches.context, 1);
  check_at_least("data.batch_sequences", data.batches.sequences, 1);
  data.batches.validate();
  check_between("data.memory_megabytes", data.memory_megabytes, {1, kMaxTokenMegabytes});
  check(data.batches.context <= recipe.model.max_length, "data.context is {} tokens, but model.max_length is {}",
        data.batches.context, recipe.model.max_length);
}

void check_text_tokenizer(const TextTokenizerRecipe& tokenizer, const TextDataRecipe& data) {
  check_tokenizer(tokenizer.learned);
  if (tokenizer.file.empty()) {
    check_vocabulary(tokenizer.learned);
  }
  check_standard_input(data, tokenizer);
}

TextSplit text_split(const TextDataRecipe& data) {
  TextSplit parts{rules_of(data, data.train), std::nullopt};
  if (!data.validation.empty()) {
    parts.validation = rules_of(data, data.validation);
  } else if (data.validation_share > 0.0) {
    require_training_text(data.train);
    const auto characters = static_cast<double>(measure_text(parts.train).characters);
    const auto cut = static_cast<int64_t>((1.0 - data.validation_share) * characters);
    parts.validation = parts.train;
    parts.train.range.end = cut;
    parts.validation->range.begin = cut;
    parts.validation->part = "kept for validation";
  }
  return parts;
}

TextSplit stored_text_split(const TextDataRecipe& data) {
  TextSplit parts{rules_of(data, data.train), std::nullopt};
  if (!data.validation.empty()) {
    parts.validation = rules_of(data, data.validation);
  } else if (data.validation_share > 0.0) {
    parts.validation = parts.train;
  }
  return parts;
}

Tokenizers make_text_tokenizers(const TextTokenizerRecipe& recipe, const TextRules& text) {
  if (!recipe.file.empty()) {
    return {load_tokenizer(recipe.file)};
  }
  require_training_text(text.files);
  const TokenizerTraining& learned = recipe.learned;
  TextSource source(text);
  TextLine line;
  std::optional<std::string> second;  // of a pair whose first text was given
  return {train_tokenizer(
      text.documents == Documents::lines ? learned : with_line_break(learned),
      [&](std::string& next) {
        if (second) {
          next = *std::exchange(second, std::nullopt);
          return true;
        }
        const bool more = source.next(line);
        if (more && text.columns == TextColumns::pair) {
          TextPair pair = split_pair(line.text, source.where(line));
          line.text = std::move(pair.first);
          second = std::move(pair.second);
        }
        next = std::move(line.text);
        return more;
      },
      names_of(text.files))};
}

BatchSize TextRecipe::batch_size(int64_t length) const {
  const int64_t sequences = data.batches.sequences, context = data.batches.context;
  return length == 0 ? BatchSize{sequences, context}
                     : BatchSize{std::max<int64_t>(1, sequences * context / length), length};
}

std::vector<int64_t> TextRecipe::vocabulary_sizes() const {
  if (tokenizer.file.empty() && learns_pieces(tokenizer.learned.kind)) {
    check_vocabulary(tokenizer.learned);
    return {tokenizer.learned.vocabulary};
  }
  return {make_tokenizers(text_split(data).train).front()->vocabulary_size()};
}

}  // namespace heed
