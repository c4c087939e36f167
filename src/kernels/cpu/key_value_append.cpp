#include <cstring>

#include "kernels/cpu/attention.h"

namespace heed::cpu {
namespace {

std::byte* address_of(const View& matrix, int64_t row) {
  return static_cast<std::byte*>(host_address(matrix)) + row * matrix.stride() * size_of(matrix.type());
}

}  // namespace

// Copies few rows, on the calling thread, whose next op reads them at once.
void append_key_values(Context& /*context*/, const KeyValueAppend& call) {
  const Segments& fresh = *call.segments;
  const auto key_bytes = static_cast<size_t>(call.keys.columns() * size_of(call.keys.type()));
  const auto value_bytes = static_cast<size_t>(call.values.columns() * size_of(call.values.type()));
  for (int64_t s = 0; s < fresh.count(); ++s) {
    const int64_t known = call.memory.segments->length(s) - fresh.length(s);
    for (int64_t token = 0; token < fresh.length(s); ++token) {
      const int64_t from = fresh.begin(s) + token, to = call.memory.row(s, known + token);
      std::memcpy(address_of(call.memory.keys, to), address_of(call.keys, from), key_bytes);
      std::memcpy(address_of(call.memory.values, to), address_of(call.values, from), value_bytes);
    }
  }
}

}  // namespace heed::cpu
