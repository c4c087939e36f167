// A recipe: all that a training run is told. docs/recipes.md describes every key.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/settings.h"
#include "data/batches.h"
#include "data/corpus_rules.h"
#include "models/config.h"
#include "text/tokenizer.h"
#include "text/vocabulary.h"
#include "train/optimizer.h"
#include "train/schedule.h"

namespace heed {

struct DataRecipe {
  std::vector<std::string> train_source, train_target, validation_source, validation_target;
  int64_t shortest = 1, longest = 100;  // tokens of a side
  CorpusRules rules;
  BatchRules batches{.target_tokens = 4096};
  int64_t memory_megabytes = 1024;  // of tokens, before they move to disk
};

struct TokenizerRecipe {
  TokenizerKind kind = TokenizerKind::bpe;
  int64_t vocabulary = 8000;  // at most
  std::string normalization = "nfc";
  bool shared = true;                // one for both languages
  int64_t sample_lines = 5'000'000;  // that bpe and unigram learn from
  int64_t minimum_count = 0;
  double coverage = 0.0;
  std::vector<std::string> user_symbols;
  SpecialTexts special;
  double source_dropout = 0.0, target_dropout = 0.0;  // of merges, when a training line is cut
  std::string source, target;                         // files of tokenizers that are there already
};

enum class RunPrecision : uint8_t { automatic, f32, bf16 };

struct TrainingRecipe {
  RunPrecision precision = RunPrecision::automatic;
  int64_t seed = 1;
  int64_t epochs = 0, updates = 0;  // whichever comes first ends the run; 0: no limit
  double minutes = 0.0;
  int64_t accumulate = 1;  // batches per update
  double smoothing = 0.1;
  int64_t log_every = 50;  // updates
};

enum class BestBy : uint8_t { loss, bleu };

struct ValidationRecipe {
  int64_t every = 500;  // updates; 0: after each epoch
  bool bleu = true;
  bool lowercase = false;
  int64_t sentences = 0;  // translated for BLEU; 0: all
  int64_t beam = 1;
  double length_penalty = 1.0;
  BestBy best_by = BestBy::bleu;
  int64_t patience = 0;  // validations without a better one before the run stops; 0: it does not
};

enum class FinalWeights : uint8_t { last, best, average_of_last, average_of_best, moving_average };

struct CheckpointRecipe {
  int64_t every = 0;            // updates; 0: with each validation
  int64_t keep = 2;             // states to resume from
  int64_t average = 5;          // checkpoints that an average is made of
  double moving_average = 0.0;  // decay of an exponential moving average; 0: none is kept
  FinalWeights final_weights = FinalWeights::average_of_best;
};

struct Recipe {
  ModelConfig model;
  DataRecipe data;
  TokenizerRecipe tokenizer;
  OptimizerConfig optimizer;
  ScheduleConfig schedule;
  TrainingRecipe training;
  ValidationRecipe validation;
  CheckpointRecipe checkpoints;

  // Throws ConfigError with what a person can act on. Vocabularies are the tokenizers' business.
  void validate() const;
};

// All tables of a recipe, bound to it.
std::vector<SettingTable> recipe_settings(Recipe& recipe);

// Reads a recipe and sets what `overrides` ("table.key=value") say instead.
Recipe parse_recipe(std::string_view toml, std::string_view name, const std::vector<std::string>& overrides);
std::string show_recipe(const Recipe& recipe);  // as TOML, every key

// A key that two recipes answer differently.
struct RecipeDifference {
  std::string key, before, now;
};
std::vector<RecipeDifference> differences(const Recipe& before, const Recipe& now);

}  // namespace heed
