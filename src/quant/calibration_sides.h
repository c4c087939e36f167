// Whether a calibration text is of the side that a translation model reads.
#pragma once

#include <span>
#include <string>

#include "decode/texts/translation/text_translation.h"

namespace heed {

struct CalibrationFiles;

// The beginning of a text, in lines that are not blank, and their translations; none: the model translates them.
struct CalibrationLines {
  std::span<const std::string> sources, targets;
};

// Throws FormatError, naming the file, where the text is the target's side, or where the translations are the text
// itself and the model does not copy what it reads. `vocabulary`: that of the target. The source has the formulas.
void require_sides(const TextTranslator& translator, const CalibrationLines& lines, const CalibrationFiles& files,
                   int64_t vocabulary);

}  // namespace heed
