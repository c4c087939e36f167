#include "base/random.h"

#include <cmath>
#include <numbers>

namespace heed {

RandomKey RandomKey::derive(uint64_t number) const {
  return RandomKey{mix_bits(bits + 0x9e3779b97f4a7c15ULL + mix_bits(number + 0xd1b54a32d192ed03ULL))};
}

RandomKey RandomKey::derive(std::string_view name) const {
  uint64_t hash = 0xcbf29ce484222325ULL;  // FNV-1a
  for (const char c : name) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  }
  return derive(hash);
}

double uniform_draw(RandomKey key, uint64_t index) {
  return static_cast<double>(key.derive(index).bits >> 11) * 0x1p-53;
}

double normal_draw(RandomKey key, uint64_t index) {
  // Box-Muller; 1 - u keeps the logarithm's argument above zero.
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform_draw(key, 2 * index)));
  return radius * std::cos(2.0 * std::numbers::pi * uniform_draw(key, 2 * index + 1));
}

}  // namespace heed
