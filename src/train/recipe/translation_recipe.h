// The recipe of a translation model: its text, its tokenizers and its validation.
#pragma once

#include "data/batches/batches.h"
#include "data/corpus/corpus_rules.h"
#include "heed/types/writing/translation.h"
#include "train/recipe/recipe.h"
#include "train/recipe/tokenizer_recipe.h"

namespace heed {

struct PairDataRecipe {
  std::vector<std::string> train_source, train_target, validation_source, validation_target;
  LanguagePair languages;                    // for a model of several
  int64_t min_length = 1, max_length = 100;  // tokens of a side
  CorpusRules rules;
  BatchRules batches{.target_tokens = 4096};
  int64_t memory_megabytes = 1024;  // of tokens, before they move to disk
};

struct PairTokenizerRecipe {
  TokenizerTraining learned{.vocabulary = 8000, .user_symbols = {}};
  bool shared = true;                                 // one for both languages
  double source_dropout = 0.0, target_dropout = 0.0;  // of merges, when a training line is tokenized
  std::string source, target;                         // files of existing tokenizers
};

enum class BestBy : uint8_t { loss, bleu };

struct TranslationValidationRecipe {
  bool bleu = true;
  bool lowercase = false;
  int64_t sentences = 0;  // translated for BLEU; 0: all
  int64_t beam = 1;
  double length_penalty = 1.0;
  BestBy best_by = BestBy::bleu;
};

class TranslationRecipe final : public TaskRecipe {
 public:
  PairDataRecipe data;
  PairTokenizerRecipe tokenizer;
  TranslationValidationRecipe validation;

  std::unique_ptr<TaskRecipe> clone() const override { return std::make_unique<TranslationRecipe>(*this); }
  std::vector<SettingTable> settings() override;
  void validate(const Recipe& recipe) const override;
  std::string_view validation_key() const override { return "data.validation_source"; }
  bool has_validation_text() const override { return !data.validation_source.empty(); }
  std::vector<RecipeFile> files() const override;
  BatchSize batch_size(int64_t length) const override;
  std::vector<int64_t> vocabulary_sizes() const override;
  std::unique_ptr<Task> make_task(const Recipe& recipe, const TaskSetup& setup) const override;
};

}  // namespace heed
