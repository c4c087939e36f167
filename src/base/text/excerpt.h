// Untrusted text, made fit for a message.
#pragma once

#include <string>
#include <string_view>

namespace heed {

// Its beginning, without control characters.
std::string shown(std::string_view text);

}  // namespace heed
