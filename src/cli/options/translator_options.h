// Options that all commands with a translation model share.
#pragma once

#include <string>
#include <vector>

#include "cli/options/given_options.h"
#include "command_line/command.h"
#include "heed/types/context.h"
#include "heed/types/inference.h"
#include "heed/types/writing/translation.h"

namespace heed::cli {

struct ModelOptions {
  std::string directory;
  InferenceOptions inference;
};

std::vector<Option> model_options(ModelOptions& options);
Option cache_option(ModelOptions& options);
Option ensemble_option(ModelOptions& options);
Option shortlist_option(std::string& file);
Option context_option(ModelOptions& options);
Option rotary_scaling_option(ModelOptions& options);

struct SearchChoice {
  TranslationOptions options;
  GivenOptions given = {};

  // Options that were not given take the model's defaults.
  void take_defaults(const TranslationOptions& of_model);
};
std::vector<Option> search_options(SearchChoice& choice);

// For models that know several languages.
std::vector<Option> language_options(LanguagePair& languages);
// Rules for what is written.
std::vector<Option> rule_options(WritingRules& rules);
Option min_tokens_option(WritingRules& rules);

}  // namespace heed::cli
