// Numbers in JSON that take less room than in decimals.
#pragma once

#include <span>
#include <string>

namespace heed::serve {

// Their f32, lowest byte first, in base64.
std::string in_base64(std::span<const float> numbers);

}  // namespace heed::serve
