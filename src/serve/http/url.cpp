#include "serve/http/url.h"

#include <charconv>

namespace heed::serve {

std::string decoded_url(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned code = 0;
    const char* const first = text.data() + i + 1;
    if (text[i] == '%' && i + 2 < text.size() && std::from_chars(first, first + 2, code, 16).ptr == first + 2) {
      decoded += static_cast<char>(code);
      i += 2;
    } else {
      decoded += text[i];
    }
  }
  return decoded;
}

}  // namespace heed::serve
