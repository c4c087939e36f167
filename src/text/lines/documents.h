// How a language model's text is divided into documents.
#pragma once

#include <cstdint>
#include <optional>

#include "base/settings.h"
#include "text/tokenizer.h"

namespace heed {

// What one document is. Its line breaks are text, except with `lines`, and except the last one with `blank_lines`.
enum class Documents : uint8_t {
  none,         // there are none: all files, one after the other, are one unchanged stream
  lines,        // each line that is not blank
  files,        // each file
  blank_lines,  // the text between two blank lines, or between one and the start or end of its file
};

// As recipes and model directories name them.
inline const ValueNames<Documents> kDocumentNames{{"none", Documents::none},
                                                  {"line", Documents::lines},
                                                  {"file", Documents::files},
                                                  {"blank-line", Documents::blank_lines}};

// Whether a text of a language model begins with a mark. Where it isn't known what the model was trained on, the
// tokenizer's file says so.
bool begins_with_mark(std::optional<Documents> documents, const Tokenizer& tokenizer);

}  // namespace heed
