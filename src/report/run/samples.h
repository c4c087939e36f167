// Sample translations with their attention maps.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "decode/texts/translation/text_translation.h"
#include "report/figures/head_figures.h"

namespace heed {

struct SampleLine {
  std::string source, reference;  // reference: may be empty
  std::string where = {};         // "valid.de:12", for messages
};

// The first `max_samples` lines of the sources that are not blank, with the same lines of the references, if there are
// any. Very long lines are skipped.
std::vector<SampleLine> read_sample_lines(const std::vector<std::filesystem::path>& sources,
                                          const std::vector<std::filesystem::path>& references, int64_t max_samples);

// Attention weights in 255ths, one byte each: [layer][head][query][key]. Empty if they were left out.
struct SampleMaps {
  std::string cross, encoder, decoder;
};

// A row of the decoder's maps is the step that predicted target_tokens[row] from fed_tokens[0] to [row].
struct TranslatedSample {
  SampleLine line;
  std::string translation;
  std::vector<std::string> source_tokens;              // the end included
  std::vector<std::string> target_tokens, fed_tokens;  // t1 .. tn, end; begin, t1 .. tn
  std::vector<double> log_probabilities;               // of target_tokens
  SampleMaps maps;
};

struct Samples {
  std::vector<TranslatedSample> translated;
  std::vector<HeadFigures> heads;
  std::vector<std::string> notes;  // what was left out
};

// Sentences that are too long for the model are left out; those too long for a page have no maps.
Samples translate_samples(const TextTranslator& translator, const std::vector<SampleLine>& lines,
                          const TranslationOptions& options);

}  // namespace heed
