#include "train/recipe/translation_recipe.h"

#include <algorithm>
#include <limits>

#include "decode/search/search.h"
#include "train/recipe/recipe_checks.h"
#include "train/tasks/translation_task.h"

namespace heed {
namespace {

const ValueNames<Handling> kHandlings{{"skip", Handling::skip}, {"refuse", Handling::refuse}};

SettingTable data_settings(PairDataRecipe& data) {
  CorpusRules& rules = data.rules;
  BatchRules& batches = data.batches;
  return {"data",
          {file_setting("train_source", data.train_source),
           file_setting("train_target", data.train_target),
           file_setting("validation_source", data.validation_source),
           file_setting("validation_target", data.validation_target),
           setting("source_language", data.languages.source),
           setting("target_language", data.languages.target),
           formerly("shortest", setting("min_length", data.min_length)),
           formerly("longest", setting("max_length", data.max_length)),
           choice("too_long", rules.too_long, kTooLongNames),
           choice("too_short", rules.too_short, kHandlings),
           choice("empty_line", rules.empty_line, kHandlings),
           choice("over_long_line", rules.over_long_line, kHandlings),
           choice("empty_file", rules.empty_file, kHandlings),
           choice("unequal_files", rules.unequal_files, kHandlings),
           formerly("most_ratio", setting("max_ratio", rules.max_ratio)),
           flag("drop_duplicates", rules.duplicates, Duplicates::keep, Duplicates::drop),
           setting("batch_target_tokens", batches.target_tokens),
           setting("batch_total_tokens", batches.total_tokens),
           setting("batch_sentences", batches.sentences),
           setting("pool", batches.pool),
           choice<PoolOrder>("pool_order", batches.order,
                             {{"by-length", PoolOrder::by_length}, {"shuffled", PoolOrder::shuffled}}),
           setting("memory_megabytes", data.memory_megabytes)}};
}

SettingTable pair_tokenizer_settings(PairTokenizerRecipe& tokenizer) {
  std::vector<Setting> settings = tokenizer_settings(tokenizer.learned);
  settings.push_back(setting("shared", tokenizer.shared));
  settings.push_back(setting("source_dropout", tokenizer.source_dropout));
  settings.push_back(setting("target_dropout", tokenizer.target_dropout));
  settings.push_back(file_setting("source", tokenizer.source));
  settings.push_back(file_setting("target", tokenizer.target));
  return {"tokenizer", std::move(settings), {}};
}

SettingTable validation_settings(TranslationValidationRecipe& validation) {
  return {"validation",
          {setting("bleu", validation.bleu), setting("lowercase", validation.lowercase),
           setting("sentences", validation.sentences), setting("beam", validation.beam),
           setting("length_penalty", validation.length_penalty),
           choice<BestBy>("best_by", validation.best_by, {{"loss", BestBy::loss}, {"bleu", BestBy::bleu}})}};
}

constexpr int64_t kUsualSentence = 24;  // tokens; an estimate

void check_data(const PairDataRecipe& data) {
  check(!data.train_source.empty(), "data.train_source names no file");
  check(data.train_source.size() == data.train_target.size(), "data.train_source names {} files, train_target {}",
        data.train_source.size(), data.train_target.size());
  check(data.validation_source.size() == data.validation_target.size(),
        "data.validation_source names {} files, validation_target {}", data.validation_source.size(),
        data.validation_target.size());
  int64_t standard_inputs = 0;
  for (const auto* files : {&data.train_source, &data.train_target, &data.validation_source, &data.validation_target}) {
    standard_inputs += std::ranges::count(*files, "-");
  }
  check(standard_inputs <= 1, "data names the standard input (-) {} times, but it can be read only once",
        standard_inputs);
  check_at_least("data.min_length", data.min_length, 1);
  check_at_least("data.max_length", data.max_length, data.min_length);
  check_between("data.memory_megabytes", data.memory_megabytes, {1, kMaxTokenMegabytes});
  check_at_least("data.batch_target_tokens", data.batches.target_tokens, 0);
  check_at_least("data.batch_total_tokens", data.batches.total_tokens, 0);
  check_at_least("data.batch_sentences", data.batches.sentences, 0);
  check_at_least("data.pool", data.batches.pool, 1);
  check(data.batches.target_tokens > 0 || data.batches.total_tokens > 0 || data.batches.sentences > 0,
        "a batch needs a size: data.batch_target_tokens, batch_total_tokens or batch_sentences");
  data.batches.validate();
  check(data.rules.max_ratio == 0.0 || data.rules.max_ratio >= 1.0,
        "data.max_ratio is {}, expected 0 (any) or at least 1", data.rules.max_ratio);
}

void check_tokenizer(const PairTokenizerRecipe& tokenizer) {
  check_tokenizer(tokenizer.learned);
  if (tokenizer.source.empty()) {
    check_vocabulary(tokenizer.learned);
  }
  check(tokenizer.source.empty() == tokenizer.target.empty(),
        "tokenizer.source and tokenizer.target must be given together");
  const bool may_have_merges = !tokenizer.source.empty() || tokenizer.learned.kind == TokenizerKind::bpe;
  for (const auto& [key, dropout] : {std::pair{"tokenizer.source_dropout", tokenizer.source_dropout},
                                     std::pair{"tokenizer.target_dropout", tokenizer.target_dropout}}) {
    check_fraction(key, dropout);
    check(dropout == 0.0 || may_have_merges, "{} drops merges of bpe, but tokenizer.kind is \"{}\"", key,
          name_of(tokenizer.learned.kind));
  }
}

void check_validation(const TranslationRecipe& recipe) {
  const TranslationValidationRecipe& validation = recipe.validation;
  check_at_least("validation.sentences", validation.sentences, 0);
  check_between("validation.beam", validation.beam, {1, kMaxBeam});
  check_between("validation.length_penalty", validation.length_penalty, {0.0, kMaxLengthPenalty});
  check(!recipe.has_validation_text() || validation.best_by == BestBy::loss || validation.bleu,
        "validation.best_by is \"bleu\", but validation.bleu is false");
}

}  // namespace

std::vector<SettingTable> TranslationRecipe::settings() {
  return {data_settings(data), pair_tokenizer_settings(tokenizer), validation_settings(validation)};
}

void TranslationRecipe::validate(const Recipe& recipe) const {
  check_data(data);
  check_tokenizer(tokenizer);
  const bool one_for_both = tokenizer.source.empty() ? tokenizer.shared : tokenizer.source == tokenizer.target;
  check(recipe.model.tying != Tying::all || one_for_both,
        "model.tie is \"all\", which needs one tokenizer for both: tokenizer.shared, or source and target alike");
  check_validation(*this);
  check(data.max_length < recipe.model.max_length,
        "data.max_length is {} tokens and an end, but model.max_length is {}", data.max_length,
        recipe.model.max_length);
}

std::vector<RecipeFile> TranslationRecipe::files() const {
  std::vector<RecipeFile> files;
  add_files(files, "data.train_source", data.train_source);
  add_files(files, "data.train_target", data.train_target);
  add_files(files, "data.validation_source", data.validation_source);
  add_files(files, "data.validation_target", data.validation_target);
  if (!tokenizer.source.empty()) {
    files.push_back({"tokenizer.source", tokenizer.source});
    files.push_back({"tokenizer.target", tokenizer.target});
  }
  return files;
}

BatchSize TranslationRecipe::batch_size(int64_t length) const {
  const int64_t tokens = length > 0 ? length : kUsualSentence;
  int64_t sequences = std::numeric_limits<int64_t>::max();
  for (const auto& [limit, each] :
       {std::pair{data.batches.target_tokens, tokens}, std::pair{data.batches.total_tokens, 2 * tokens},
        std::pair{data.batches.sentences, int64_t{1}}}) {
    sequences = limit > 0 ? std::min(sequences, limit / each) : sequences;
  }
  return {std::max<int64_t>(1, sequences), tokens};
}

std::vector<int64_t> TranslationRecipe::vocabulary_sizes() const {
  if (tokenizer.source.empty() && learns_pieces(tokenizer.learned.kind)) {
    check_vocabulary(tokenizer.learned);
    return {tokenizer.learned.vocabulary, tokenizer.learned.vocabulary};
  }
  const Tokenizers tokenizers = make_tokenizers(*this);
  return {tokenizers.front()->vocabulary_size(), tokenizers.back()->vocabulary_size()};
}

std::unique_ptr<Task> TranslationRecipe::make_task(const Recipe& recipe, const TaskSetup& setup) const {
  return std::make_unique<TranslationTask>(recipe, setup);
}

}  // namespace heed
