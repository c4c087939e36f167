// SentencePiece models that are written.
#pragma once

#include <string>

#include "text/sentencepiece/sentencepiece_model.h"

namespace heed {

// The model as a file of SentencePiece's: its pieces, type, character map and what becomes of spaces.
std::string write_sentencepiece_model(const SentencePieceModel& model);

}  // namespace heed
