#include "propose/proposal.h"

#include <algorithm>
#include <filesystem>

#include "base/errors.h"
#include "base/system/files.h"
#include "base/system/threads.h"
#include "propose/encoder_proposal.h"
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
      "recipe", "{}",
      translates ? "a translation needs --source and --target" : "all tasks but translation need --text alone");
  require<ConfigError>(options.validation.empty() || options.validation.size() == (translates ? 2U : 1U), "recipe",
                       "--validation has {} files, expected {}", options.validation.size(),
                       translates ? "two: sources and targets" : "one");
  require<ConfigError>(!std::filesystem::is_directory(options.output), options.output,
                       "is a folder, expected a file to write");
  for (const auto* const files : {&options.source, &options.target, &options.text, &options.validation}) {
    require<ConfigError>(std::ranges::count(*files, "-") == 0, "recipe",
                         "the text is read more than once: expected files, not the standard input (-)");
    require_other_file(options.output, *files);
  }
  require<ConfigError>(options.memory >= 0.0, "recipe", "--memory is {:g}, expected GB, or 0 for what there is",
                       options.memory);
  thread_count(options.threads);  // throws for a number that makes no sense
  require<ConfigError>(options.minutes >= kLeastMinutes, "recipe",
                       "--minutes is {:g}, but reading text, a few updates and a validation need at least {:g}",
                       options.minutes, kLeastMinutes);
}

std::string proposed(const ProposalOptions& options) {
  switch (options.task) {
    case ProposedTask::translation:
      return propose_translation(options);
    case ProposedTask::language_model:
      return propose_language_model(options);
    case ProposedTask::masked_lm:
      return propose_masked_model(options);
    case ProposedTask::classify:
    case ProposedTask::tag:
      break;
  }
  return propose_labels(options);
}

}  // namespace

std::string propose_recipe(const ProposalOptions& options) {
  require_files(options);
  std::string recipe = proposed(options);
  write_file(options.output, recipe);
  return recipe;
}

}  // namespace heed
