// Manual pages, from the table of commands.
#pragma once

#include <string>
#include <vector>

#include "command_line/command.h"

namespace heed::cli {

struct ManualPage {
  std::string file;  // "heed-tokenizer-train.1"
  std::string text;  // in the macros of man(7)
};

// One page for the program and one for each command that help shows. `version` stands at the foot of each.
std::vector<ManualPage> manual_pages(const Command& program, const std::string& version);

}  // namespace heed::cli
