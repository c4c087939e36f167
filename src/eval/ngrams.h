// Counts of n-grams in a few sequences that are compared with each other.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace heed {

// Numbers words from 0 on; equal words get the same number. The words' text must outlive it.
class WordNumbers {
 public:
  std::vector<uint32_t> operator()(std::span<const std::string_view> words);

 private:
  std::unordered_map<std::string_view, uint32_t> numbers_;
};

// Goes through the orders 1, 2, ... of all sequences at once. An n-gram is identified by the number of its first n-1
// units and its last unit, so each order costs one look-up per position, however long the n-grams are.
class NGramCounts {
 public:
  explicit NGramCounts(std::vector<std::vector<uint32_t>> sequences);

  // Counts the n-grams of the next order; the first call those of order 1.
  void advance();

  // How often each n-gram of this order occurs in a sequence; an n-gram has the same index in every sequence's counts.
  std::span<const int64_t> counts(size_t sequence) const {
    return std::span(counts_).subspan(sequence * distinct_, distinct_);
  }
  int64_t total(size_t sequence) const;

 private:
  struct Slot {
    uint64_t key = 0;
    uint32_t order = 0, number = 0;  // order: the one that the slot was filled in; others count as empty
  };

  uint32_t number(uint64_t key);

  std::vector<std::vector<uint32_t>> sequences_;
  std::vector<std::vector<uint32_t>> prefixes_;  // the number of the n-gram that begins at each position
  std::vector<Slot> slots_;                      // open addressing; a power of two, at most half full
  std::vector<int64_t> counts_;
  size_t order_ = 0, distinct_ = 0;
};

}  // namespace heed
