// The texts of a vocabulary and their ids, in flat memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heed::huggingface {

// A good hash of a few bytes, the same on every machine with this byte order.
uint64_t hash_bytes(std::string_view bytes);

class TokenTable {
 public:
  static constexpr int32_t kNone = -1;

  // Room for so many texts.
  void reserve(size_t texts, size_t bytes);
  // The last id given to a text is its id.
  void set(std::string_view text, int32_t id);

  int32_t find(std::string_view text) const { return find(text, hash_bytes(text)); }
  int32_t find(std::string_view text, uint64_t hash) const;
  size_t size() const { return count_; }
  size_t longest() const { return longest_; }  // bytes

 private:
  struct Slot {
    uint32_t check = 0;  // a part of the hash
    int32_t id = kNone;
    uint32_t begin = 0, size = 0;
  };

  void grow(size_t slots);
  Slot* slot_of(std::string_view text, uint64_t hash);

  std::vector<Slot> slots_;
  std::string texts_;
  size_t count_ = 0, longest_ = 0;
};

}  // namespace heed::huggingface
