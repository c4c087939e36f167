// The sections of a report's page, each a <section> of its own.
#pragma once

#include "report/figures/html.h"
#include "report/page.h"

namespace heed {

bool is_language_model(const ReportContent& content);
// The validation whose labels are shown: the best one; nullptr where it has none.
const ValidationPoint* labeled_validation(const ReportContent& content);

void write_curves(Html& page, const ReportContent& content);         // charts, and a table of validations
void write_samples(Html& page, const ReportContent& content);        // translations with their attention
void write_texts(Html& page, const ReportContent& content);          // a language model's samples at validations
void write_passages(Html& page, const ReportContent& content);       // its surprisal at each token, and its attention
void write_encoder_texts(Html& page, const ReportContent& content);  // texts that an encoder read, with its attention
void write_heads(Html& page, const ReportContent& content);          // what each head attends to
void write_architecture(Html& page, const ReportContent& content);   // a drawing of the model
void write_labels(Html& page, const ReportContent& content);         // what a classifier took each label for
void write_positions(Html& page, const ReportContent& content);      // the model's position embeddings
void write_configuration(Html& page,
                         const ReportContent& content);  // settings, with those that differ from the defaults marked

}  // namespace heed
