// Text as a JSON string.
#pragma once

#include <string>
#include <string_view>

namespace heed::cli {

// The text in quotation marks, escaped. It must be UTF-8.
std::string json_string(std::string_view text);

}  // namespace heed::cli
