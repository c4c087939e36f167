// What models read around a text.
#pragma once

#include <optional>
#include <vector>

#include "models/config.h"
#include "text/lines/documents.h"
#include "text/tokenizer.h"

namespace heed {

// What an encoder reads around one text or two: as the tokenizer's file has it, or else `begin a end` and
// `begin a separator b end`, with types 0 up to the separator and 1 after it. begin is bos (or eos, where there is
// none), end is eos, separator is sep (or eos). FormatError where heed's form needs an eos and there is none.
std::vector<FrameSlot> encoder_frame(const Tokenizer& tokenizer, int texts);

// What a model of any kind reads around a text to embed it: an encoder as above, an encoder-decoder as it reads sources,
// without a language; a language model as the tokenizer's file has it, or else as its documents begin.
std::vector<FrameSlot> embedding_frame(Architecture architecture, const Tokenizer& tokenizer,
                                       std::optional<Documents> documents);

}  // namespace heed
