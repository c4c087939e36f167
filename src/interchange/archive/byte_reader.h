// Reads numbers and texts from the bytes of an untrusted file, one after the other. What would go beyond the end is a
// FormatError that names the file, what was to be read, and the byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/errors.h"

namespace heed {

class ByteReader {
 public:
  ByteReader(std::span<const std::byte> bytes, std::string where) : bytes_(bytes), where_(std::move(where)) {}

  const std::string& where() const { return where_; }
  uint64_t at() const { return at_; }
  uint64_t left() const { return bytes_.size() - at_; }

  std::span<const std::byte> take(uint64_t size, std::string_view what) {
    require<FormatError>(size <= left(), where_, "{} takes {} bytes at byte {}, but {} are left", what, size, at_,
                         left());
    const auto taken = bytes_.subspan(at_, size);
    at_ += size;
    return taken;
  }
  std::string_view text(uint64_t size, std::string_view what) {
    const auto taken = take(size, what);
    return {reinterpret_cast<const char*>(taken.data()), taken.size()};
  }
  template <class T>
  requires std::is_arithmetic_v<T> T number(std::string_view what) {
    T value{};
    std::memcpy(&value, take(sizeof value, what).data(), sizeof value);
    return value;
  }
  // The bytes up to the next multiple, counted from the beginning.
  void skip_to_multiple_of(uint64_t unit, std::string_view what) { take((unit - at_ % unit) % unit, what); }
  void seek(uint64_t at, std::string_view what) {
    require<FormatError>(at <= bytes_.size(), where_, "{} is at byte {} of {}", what, at, bytes_.size());
    at_ = at;
  }

  // Before room is made for `count` things of at least so many bytes each.
  void require_room(uint64_t count, uint64_t least_bytes, std::string_view what) const {
    require<FormatError>(count <= left() / least_bytes, where_, "{} {}, but only {} bytes are left", count, what,
                         left());
  }

 private:
  std::span<const std::byte> bytes_;
  std::string where_;
  uint64_t at_ = 0;
};

}  // namespace heed
