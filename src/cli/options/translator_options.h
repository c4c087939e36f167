// Options that all commands with a translation model share.
#pragma once

#include <string>
#include <vector>

#include "command_line/command.h"
#include "heed/context.h"
#include "heed/inference.h"
#include "heed/translation.h"

namespace heed::cli {

struct ModelOptions {
  std::string directory;
  InferenceOptions inference;
};

std::vector<Option> model_options(ModelOptions& options);
Option cache_option(ModelOptions& options);
Option ensemble_option(ModelOptions& options);
Option shortlist_option(std::string& file);
// `name`: of the option for the length.
std::vector<Option> context_options(ModelOptions& options, const std::string& name = "--max-length");
inline constexpr auto kTranslatorContext = "--context";  // --max-length is that of the translation
std::vector<Option> search_options(TranslationOptions& options);
// Rules for what is written; `minimum` is the name of the option for its least length.
std::vector<Option> rule_options(WritingRules& rules, const std::string& minimum);

}  // namespace heed::cli
