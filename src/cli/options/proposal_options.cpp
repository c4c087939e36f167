#include "cli/options/proposal_options.h"

namespace heed::cli {

std::vector<Option> text_options(ProposalOptions& options) {
  return {option("--task NAME", options.task, kProposedTaskNames,
                 "what the text is for: translation, language-model, masked-lm, classify or tag"),
          option("--source FILE...", options.source, "of a translation: sentences, one per line"),
          option("--target FILE...", options.target, "their translations, line by line"),
          option("--text FILE...", options.text,
                 "of the other tasks: the text; texts or words with their labels for classify and tag"),
          option("--validation FILE...", options.validation,
                 "text to validate with: two files of a translation, otherwise one; left out: a part of the text is "
                 "kept for it"),
          option("--from DIR", options.from, "a model to go on from, of heed or another program"),
          option("--for NAME", options.aim, kAimNames, "what the model is to be best at: quality, speed or size"),
          option("--memory GB", options.memory, "that training may take; 0: what this machine has"),
          option("--minutes N", options.minutes, "that training may take on this machine")};
}

}  // namespace heed::cli
