// The field "logit_bias", of all interfaces that write texts.
#pragma once

#include "heed/types/writing/generation.h"
#include "serve/json/fields.h"

namespace heed::serve {

// {"17": -2.5, ...}: tokens' numbers and what is added to their logits.
void take_logit_bias(Fields& fields, SamplingOptions& sampling);

}  // namespace heed::serve
