// Learning a tokenizer from text.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "heed/types/tokenizer.h"
#include "text/tokenizer.h"

namespace heed {

// Gives the next line, without its end, or returns false when there is none.
using LineSource = std::function<bool(std::string& line)>;

// The same lines give the same tokenizer, to the byte. ConfigError for what is impossible or does not apply to the
// kind; FormatError for a line that is not UTF-8. `where` names the text in errors.
std::unique_ptr<Tokenizer> train_tokenizer(const TokenizerTraining& training, const LineSource& lines,
                                           std::string_view where = "training");

}  // namespace heed
