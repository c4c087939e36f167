// Texts as an encoder reads them, with its attention.
#pragma once

#include <string>
#include <vector>

#include "heed/types/interruption.h"
#include "heed/types/reading/labeled_files.h"
#include "models/any_model.h"
#include "report/figures/head_figures.h"
#include "report/run/samples.h"
#include "text/tokenizer.h"

namespace heed {

struct EncoderText {
  std::string text;
  std::vector<std::string> tokens;  // begin and end included
  std::string maps;                 // in 255ths, one byte each: [layer][head][query][key]; may be empty
};

struct EncoderTexts {
  std::vector<EncoderText> read;
  std::vector<HeadFigures> heads;
  std::vector<std::string> notes;  // what was left out
};

// What is too long for the model is cut; texts too long for a page have no maps. FormatError, naming the line, for one
// with another number of columns. An interruption takes effect between two texts.
EncoderTexts read_encoder_texts(const Inference& inference, const Tokenizer& tokenizer,
                                const std::vector<SampleLine>& lines, TextColumns columns = TextColumns::one,
                                const Interruption& interruption = {});

}  // namespace heed
