// Bytes as text.
#pragma once

#include <string>
#include <string_view>

namespace heed {

// FormatError names `where` for what is not base64 with its padding.
std::string decode_base64(std::string_view text, std::string_view where);
std::string encode_base64(std::string_view bytes);

}  // namespace heed
