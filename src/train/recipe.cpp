#include "train/recipe.h"

#include <algorithm>
#include <cmath>

#include "decode/search.h"
#include "models/config_keys.h"
#include "text/normalization.h"

namespace heed {
namespace {

const ValueNames<Handling> kHandlings{{"skip", Handling::skip}, {"refuse", Handling::refuse}};

SettingTable data_settings(DataRecipe& data) {
  CorpusRules& rules = data.rules;
  BatchRules& batches = data.batches;
  return {"data",
          {setting("train_source", data.train_source),
           setting("train_target", data.train_target),
           setting("validation_source", data.validation_source),
           setting("validation_target", data.validation_target),
           setting("shortest", data.shortest),
           setting("longest", data.longest),
           choice<TooLong>("too_long", rules.too_long,
                           {{"drop", TooLong::drop}, {"truncate", TooLong::truncate}, {"refuse", TooLong::refuse}}),
           choice("too_short", rules.too_short, kHandlings),
           choice("empty_line", rules.empty_line, kHandlings),
           choice("over_long_line", rules.over_long_line, kHandlings),
           choice("empty_file", rules.empty_file, kHandlings),
           choice("unequal_files", rules.unequal_files, kHandlings),
           setting("most_ratio", rules.most_ratio),
           flag("drop_duplicates", rules.duplicates, Duplicates::keep, Duplicates::drop),
           setting("batch_target_tokens", batches.target_tokens),
           setting("batch_total_tokens", batches.total_tokens),
           setting("batch_sentences", batches.sentences),
           setting("pool", batches.pool),
           choice<PoolOrder>("pool_order", batches.order,
                             {{"by-length", PoolOrder::by_length}, {"shuffled", PoolOrder::shuffled}}),
           setting("memory_megabytes", data.memory_megabytes)}};
}

SettingTable tokenizer_settings(TokenizerRecipe& tokenizer) {
  return {"tokenizer",
          {choice<TokenizerKind>("kind", tokenizer.kind,
                                 {{"bpe", TokenizerKind::bpe},
                                  {"unigram", TokenizerKind::unigram},
                                  {"wordpiece", TokenizerKind::wordpiece},
                                  {"word", TokenizerKind::word},
                                  {"char", TokenizerKind::character},
                                  {"byte", TokenizerKind::byte}}),
           setting("vocabulary", tokenizer.vocabulary), setting("normalization", tokenizer.normalization),
           setting("shared", tokenizer.shared), setting("sample_lines", tokenizer.sample_lines),
           setting("minimum_count", tokenizer.minimum_count), setting("coverage", tokenizer.coverage),
           setting("user_symbols", tokenizer.user_symbols), setting("pad", tokenizer.special.pad),
           setting("unk", tokenizer.special.unk), setting("bos", tokenizer.special.bos),
           setting("eos", tokenizer.special.eos), setting("sep", tokenizer.special.sep),
           setting("source_dropout", tokenizer.source_dropout), setting("target_dropout", tokenizer.target_dropout),
           setting("source", tokenizer.source), setting("target", tokenizer.target)}};
}

SettingTable optimizer_settings(OptimizerConfig& optimizer) {
  return {"optimizer",
          {choice<WeightDecay>("kind", optimizer.decay_kind,
                               {{"adam", WeightDecay::coupled}, {"adamw", WeightDecay::decoupled}}),
           setting("beta1", optimizer.beta1), setting("beta2", optimizer.beta2), setting("epsilon", optimizer.epsilon),
           setting("weight_decay", optimizer.weight_decay), setting("clip", optimizer.max_norm)}};
}

SettingTable schedule_settings(ScheduleConfig& schedule) {
  return {"schedule",
          {choice<ScheduleKind>("kind", schedule.kind,
                                {{"constant", ScheduleKind::constant},
                                 {"inverse-sqrt", ScheduleKind::inverse_sqrt},
                                 {"cosine", ScheduleKind::cosine}}),
           setting("peak", schedule.peak), setting("final", schedule.final), setting("warmup", schedule.warmup),
           setting("length", schedule.length)}};
}

SettingTable training_settings(TrainingRecipe& training) {
  return {"training",
          {choice<RunPrecision>(
               "precision", training.precision,
               {{"auto", RunPrecision::automatic}, {"f32", RunPrecision::f32}, {"bf16", RunPrecision::bf16}}),
           setting("seed", training.seed), setting("epochs", training.epochs), setting("updates", training.updates),
           setting("minutes", training.minutes), setting("accumulate", training.accumulate),
           setting("smoothing", training.smoothing), setting("log_every", training.log_every)}};
}

SettingTable validation_settings(ValidationRecipe& validation) {
  return {"validation",
          {setting("every", validation.every), setting("bleu", validation.bleu),
           setting("lowercase", validation.lowercase), setting("sentences", validation.sentences),
           setting("beam", validation.beam), setting("length_penalty", validation.length_penalty),
           choice<BestBy>("best_by", validation.best_by, {{"loss", BestBy::loss}, {"bleu", BestBy::bleu}}),
           setting("patience", validation.patience)}};
}

SettingTable checkpoint_settings(CheckpointRecipe& checkpoints) {
  return {"checkpoints",
          {setting("every", checkpoints.every), setting("keep", checkpoints.keep),
           setting("average", checkpoints.average), setting("moving_average", checkpoints.moving_average),
           choice<FinalWeights>("final", checkpoints.final_weights,
                                {{"last", FinalWeights::last},
                                 {"best", FinalWeights::best},
                                 {"average-of-last", FinalWeights::average_of_last},
                                 {"average-of-best", FinalWeights::average_of_best},
                                 {"moving-average", FinalWeights::moving_average}})}};
}

constexpr int64_t kMostMegabytes = 1 << 24;
constexpr int64_t kMostEpochs = 1'000'000'000;

template <class... Args>
void check(bool condition, fmt::format_string<Args...> message, Args&&... args) {
  require<ConfigError, Args...>(condition, "recipe", message, std::forward<Args>(args)...);
}

void check_at_least(std::string_view name, int64_t value, int64_t least) {
  check(value >= least, "{} is {}, expected at least {}", name, value, least);
}

void check_data(const DataRecipe& data) {
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
  check(standard_inputs <= 1, "data names the standard input (-) {} times, but it is read once", standard_inputs);
  check_at_least("data.shortest", data.shortest, 1);
  check_at_least("data.longest", data.longest, data.shortest);
  check(data.memory_megabytes >= 1 && data.memory_megabytes <= kMostMegabytes,
        "data.memory_megabytes is {}, expected 1 to {}", data.memory_megabytes, kMostMegabytes);
  check_at_least("data.batch_target_tokens", data.batches.target_tokens, 0);
  check_at_least("data.batch_total_tokens", data.batches.total_tokens, 0);
  check_at_least("data.batch_sentences", data.batches.sentences, 0);
  check_at_least("data.pool", data.batches.pool, 1);
  check(data.batches.target_tokens > 0 || data.batches.total_tokens > 0 || data.batches.sentences > 0,
        "a batch needs a size: data.batch_target_tokens, batch_total_tokens or batch_sentences");
  data.batches.validate();
  check(data.rules.most_ratio == 0.0 || data.rules.most_ratio >= 1.0,
        "data.most_ratio is {}, expected 0 (any) or at least 1", data.rules.most_ratio);
}

void check_tokenizer(const TokenizerRecipe& tokenizer) {
  parse_normalization(tokenizer.normalization);
  check_at_least("tokenizer.vocabulary", tokenizer.vocabulary, 0);
  check_at_least("tokenizer.sample_lines", tokenizer.sample_lines, 1);
  check(tokenizer.source.empty() == tokenizer.target.empty(), "tokenizer.source and target come together");
  const bool may_have_merges = !tokenizer.source.empty() || tokenizer.kind == TokenizerKind::bpe;
  for (const auto& [name, dropout] :
       {std::pair{"source_dropout", tokenizer.source_dropout}, std::pair{"target_dropout", tokenizer.target_dropout}}) {
    check(dropout >= 0.0 && dropout < 1.0, "tokenizer.{} is {}, expected at least 0 and below 1", name, dropout);
    check(dropout == 0.0 || may_have_merges, "tokenizer.{} leaves out merges of bpe, but tokenizer.kind is \"{}\"",
          name, name_of(tokenizer.kind));
  }
}

void check_run(const Recipe& recipe) {
  const TrainingRecipe& training = recipe.training;
  check(training.epochs >= 0 && training.epochs <= kMostEpochs, "training.epochs is {}, expected 0 to {}",
        training.epochs, kMostEpochs);
  check_at_least("training.updates", training.updates, 0);
  check(training.minutes >= 0.0, "training.minutes is {}, expected at least 0", training.minutes);
  check(training.epochs > 0 || training.updates > 0 || training.minutes > 0.0 || recipe.validation.patience > 0,
        "nothing would end the run: set training.epochs, updates or minutes, or validation.patience");
  check_at_least("training.accumulate", training.accumulate, 1);
  check_at_least("training.log_every", training.log_every, 1);
  check(training.smoothing >= 0.0 && training.smoothing < 1.0,
        "training.smoothing is {}, expected at least 0 and below 1", training.smoothing);
}

void check_validation(const Recipe& recipe) {
  const ValidationRecipe& validation = recipe.validation;
  const CheckpointRecipe& checkpoints = recipe.checkpoints;
  const bool has_data = !recipe.data.validation_source.empty();
  check_at_least("validation.every", validation.every, 0);
  check_at_least("validation.patience", validation.patience, 0);
  check_at_least("validation.sentences", validation.sentences, 0);
  SearchOptions{.beam = validation.beam, .length_penalty = validation.length_penalty, .never = {}}.validate();
  check(validation.patience == 0 || has_data, "validation.patience needs data.validation_source");
  check(!has_data || validation.best_by == BestBy::loss || validation.bleu,
        "validation.best_by is \"bleu\", but validation.bleu is false");
  check_at_least("checkpoints.every", checkpoints.every, 0);
  check_at_least("checkpoints.keep", checkpoints.keep, 1);
  check_at_least("checkpoints.average", checkpoints.average, 1);
  check(checkpoints.moving_average >= 0.0 && checkpoints.moving_average < 1.0,
        "checkpoints.moving_average is {}, expected at least 0 and below 1", checkpoints.moving_average);
  check(checkpoints.final_weights != FinalWeights::moving_average || checkpoints.moving_average > 0.0,
        "checkpoints.final is \"moving-average\", but none is kept: set checkpoints.moving_average");
  const bool of_validated =
      checkpoints.final_weights != FinalWeights::last && checkpoints.final_weights != FinalWeights::moving_average;
  check(!of_validated || has_data,
        "checkpoints.final chooses among validated weights, which needs data.validation_source; without, set it to "
        "\"last\"");
}

// Vocabularies are known later, and are alike where that matters.
void check_model(ModelConfig model) {
  model.source_vocabulary = model.target_vocabulary = 1;
  try {
    model.validate();
  } catch (const ConfigError& error) {
    fail<ConfigError>("recipe", "{}", error.what());
  }
}

}  // namespace

void Recipe::validate() const {
  check(model.architecture == Architecture::seq2seq, "only seq2seq models can be trained from parallel text");
  check_model(model);
  check_data(data);
  check_tokenizer(tokenizer);
  const bool one_for_both = tokenizer.source.empty() ? tokenizer.shared : tokenizer.source == tokenizer.target;
  check(model.tying != Tying::all || one_for_both,
        "model.tie is \"all\", which needs one tokenizer for both: tokenizer.shared, or source and target alike");
  optimizer.validate();
  schedule.validate();
  check_run(*this);
  check_validation(*this);
  check(data.longest < model.longest, "data.longest is {} tokens and an end, but model.longest is {}", data.longest,
        model.longest);
}

std::vector<SettingTable> recipe_settings(Recipe& recipe) {
  return {model_settings(recipe.model),           data_settings(recipe.data),
          tokenizer_settings(recipe.tokenizer),   optimizer_settings(recipe.optimizer),
          schedule_settings(recipe.schedule),     training_settings(recipe.training),
          validation_settings(recipe.validation), checkpoint_settings(recipe.checkpoints)};
}

Recipe parse_recipe(std::string_view toml, std::string_view name, const std::vector<std::string>& overrides) {
  Recipe recipe;
  const std::vector<SettingTable> tables = recipe_settings(recipe);
  const std::vector<std::string> present = read_settings(toml, name, tables);
  require<ConfigError>(std::ranges::count(present, "model") > 0, name, "there is no [model] table");
  for (const std::string& assignment : overrides) {
    override_setting(assignment, tables);
  }
  return recipe;
}

std::vector<RecipeDifference> differences(const Recipe& before, const Recipe& now) {
  Recipe first = before, second = now;
  const std::vector<SettingTable> left = recipe_settings(first), right = recipe_settings(second);
  std::vector<RecipeDifference> found;
  for (size_t table = 0; table < left.size(); ++table) {
    for (size_t i = 0; i < left[table].settings.size(); ++i) {
      const Setting &a = left[table].settings[i], &b = right[table].settings[i];
      if (a.show() != b.show()) {
        found.push_back({left[table].name + "." + a.name, a.show(), b.show()});
      }
    }
  }
  return found;
}

std::string show_recipe(const Recipe& recipe) {
  Recipe copy = recipe;
  return show_settings(recipe_settings(copy));
}

}  // namespace heed
