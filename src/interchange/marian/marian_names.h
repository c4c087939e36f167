// What Marian calls the weights of a transformer.
#pragma once

#include "interchange/marian/model_file.h"
#include "interchange/naming.h"
#include "models/config.h"

namespace heed {

struct MarianTables {
  std::string_view source, target;
};
constexpr std::string_view kMarianLogits = "decoder_ff_logit_out_W", kMarianLogitsBias = "decoder_ff_logit_out_b";

// FormatError where some matrices are integers and others are not: those lie turned over.
ForeignNames marian_names(const MarianFile& file, const ModelConfig& config, const MarianTables& tables);

}  // namespace heed
