#include "cli/options/proposal_options.h"

#include <fmt/format.h>

#include "heed/errors.h"

namespace heed::cli {

std::vector<Option> text_options(ProposalOptions& options) {
  return {option("--task NAME", options.task, kProposedTaskNames, "what the text is for"),
          option("--source FILE...", options.source, "of a translation: sentences, one per line"),
          option("--target FILE...", options.target, "their translations, line by line"),
          option("--text FILE...", options.text, "of a language model: the text"),
          option("--validation FILE...", options.validation,
                 "text to validate with: two files of a translation, one of a language model; left out: a part of the "
                 "text is kept for it"),
          option("--minutes N", options.minutes, "that training may take on this machine")};
}

void require_no_text(const ProposalOptions& options) {
  for (const std::vector<std::string>* const files :
       {&options.source, &options.target, &options.text, &options.validation}) {
    if (!files->empty()) {
      throw ConfigError(fmt::format("train: the recipe names its text: leave out either RECIPE or {}", files->front()));
    }
  }
}

}  // namespace heed::cli
