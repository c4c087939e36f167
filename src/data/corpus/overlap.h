// How much of one text occurs in another: a score on validation text that was trained on says little.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>

namespace heed {

// Which of a few sequences of tokens occur in a text. Sequences are compared by a 64-bit hash.
class SequenceSearch {
 public:
  void look_for(std::span<const int32_t> sequence);
  void scan(std::span<const int32_t> sequence);  // of the text

  int64_t wanted() const { return wanted_; }
  int64_t found() const;  // of the wanted ones

 private:
  struct Entry {
    int64_t times = 0;  // that it is wanted
    bool found = false;
  };

  int64_t wanted_ = 0;
  std::unordered_map<uint64_t, Entry> entries_;
};

}  // namespace heed
