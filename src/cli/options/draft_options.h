// Options that all commands share which can draft.
#pragma once

#include <vector>

#include "command_line/command.h"
#include "heed/types/writing/drafting.h"

namespace heed::cli {

std::vector<Option> draft_options(DraftOptions& options);

// Writes what drafts did to standard error, if there were any.
void report_drafts(const DraftOptions& options, const DraftReport& report);

}  // namespace heed::cli
