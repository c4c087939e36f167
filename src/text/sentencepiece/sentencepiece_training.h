// SentencePiece's trainers.
#pragma once

#include "text/tokenizer_training.h"

namespace heed {

// `lines` are normalized already. Returns the model's bytes.
std::string train_sentencepiece(const TokenizerTraining& training, const LineSource& lines);

}  // namespace heed
