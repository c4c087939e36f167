// Options that several kinds of models share.
#pragma once

#include <array>

#include "heed/types/inference.h"
#include "heed/types/too_long.h"
#include "heed/types/writing/drafting.h"
#include "heed/types/writing/writing_rules.h"
#include "options.h"

namespace heed::c {

// Those of models that read; `add_writing_options` adds those of models that write.
InferenceOptions inference_options(OptionReader& options);
void add_writing_options(OptionReader& options, InferenceOptions& inference);
DraftOptions draft_options(OptionReader& options);

// HEED_TOO_LONG, where a text cannot be dropped.
inline constexpr std::array<NamedValue<TooLong>, 2> kTooLongChoices{
    {{"refuse", TooLong::refuse}, {"truncate", TooLong::truncate}}};

void read_rules(OptionReader& options, WritingRules& rules);

}  // namespace heed::c
