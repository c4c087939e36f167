// Options that all commands with a translation model share.
#pragma once

#include <string>
#include <vector>

#include "command_line/command.h"
#include "heed/context.h"
#include "heed/translator.h"

namespace heed::cli {

struct ModelOptions {
  std::string directory;
  TranslatorOptions translator;
};

std::vector<Option> model_options(ModelOptions& options);
std::vector<Option> context_options(ContextOptions& options);
std::vector<Option> search_options(TranslationOptions& options);

}  // namespace heed::cli
