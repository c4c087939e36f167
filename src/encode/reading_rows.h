// What a model computes from a batch of texts, row by row.
#pragma once

#include <span>

#include "encode/text_reader.h"
#include "ops/pass.h"

namespace heed {

// A matrix with rows_of_reading(text) rows for each text, in their order.
Var reading_rows(Pass& pass, const AnyModel& model, const SourceSequences& sequences,
                 std::span<const EncodedText* const> batch, const Reading& reading);
int64_t rows_of_reading(const EncodedText& text, const Reading& reading);

}  // namespace heed
