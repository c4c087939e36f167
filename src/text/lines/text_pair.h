// Two texts in a line, with a tab between them.
#pragma once

#include <string>

#include "heed/types/reading/labels.h"

namespace heed {

// FormatError, naming `where`, for a line with another number of columns.
TextPair split_pair(const std::string& line, const std::string& where);

}  // namespace heed
