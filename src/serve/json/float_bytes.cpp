#include "serve/json/float_bytes.h"

#include <bit>

#include "base/text/base64.h"

namespace heed::serve {

static_assert(std::endian::native == std::endian::little, "numbers are sent with their lowest byte first");

std::string in_base64(std::span<const float> numbers) {
  return encode_base64({reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes()});
}

}  // namespace heed::serve
