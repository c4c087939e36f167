// One function per subcommand: its options and what it runs.
#pragma once

#include <string>

#include "command_line/command.h"

namespace heed::cli {

Command bench_command();
Command bleu_command();
Command chat_command();
Command choose_command();
Command classify_command();
Command demo_command(const std::string& program);  // `program` is how it was called, for the commands that it suggests
Command embed_command();
Command evaluate_command();
Command export_command();
Command fill_command();
Command generate_command();
Command import_command();
Command inspect_command();
Command merge_command();
Command plan_command();
Command perplexity_command();
Command prepare_command();
Command quantize_command();
Command recipe_command();
Command report_command();
Command score_command();
Command self_describe_command(const Command& program);  // of all other commands
Command serve_command();
Command shortlist_command();
Command tag_command();
Command tokenizer_command();
Command train_command();
Command translate_command();
Command tune_command();

}  // namespace heed::cli
