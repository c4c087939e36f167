// Texts in addresses.
#pragma once

#include <string>
#include <string_view>

namespace heed::serve {

// %20 and the like as the characters that they stand for.
std::string decoded_url(std::string_view text);

}  // namespace heed::serve
