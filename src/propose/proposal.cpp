#include "propose/proposal.h"

#include "base/errors.h"
#include "base/system/files.h"
#include "base/system/threads.h"
#include "propose/language_proposal.h"
#include "propose/translation_proposal.h"

namespace heed {
namespace {

constexpr double kLeastMinutes = 0.1;

void require_files(const ProposalOptions& options) {
  const bool translates = options.task == ProposedTask::translation;
  require<ConfigError>(
      translates ? !options.source.empty() && !options.target.empty() && options.text.empty()
                 : !options.text.empty() && options.source.empty() && options.target.empty(),
      "recipe", "{}", translates ? "a translation needs --source and --target" : "a language model needs --text alone");
  require<ConfigError>(options.validation.empty() || options.validation.size() == (translates ? 2U : 1U), "recipe",
                       "--validation has {} files, expected {}", options.validation.size(),
                       translates ? "two: sources and targets" : "one");
  thread_count(options.threads);  // throws for a number that makes no sense
  require<ConfigError>(options.minutes >= kLeastMinutes, "recipe",
                       "--minutes is {:g}, but reading text, a few updates and a validation need at least {:g}",
                       options.minutes, kLeastMinutes);
}

}  // namespace

std::string propose_recipe(const ProposalOptions& options) {
  require_files(options);
  std::string recipe =
      options.task == ProposedTask::translation ? propose_translation(options) : propose_language_model(options);
  write_file(options.output, recipe);
  return recipe;
}

}  // namespace heed
