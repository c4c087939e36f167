#include "eval/ngrams.h"

#include <bit>

#include "base/random.h"

namespace heed {

std::vector<uint32_t> WordNumbers::operator()(std::span<const std::string_view> words) {
  std::vector<uint32_t> numbers;
  numbers.reserve(words.size());
  for (const std::string_view word : words) {
    numbers.push_back(numbers_.try_emplace(word, static_cast<uint32_t>(numbers_.size())).first->second);
  }
  return numbers;
}

NGramCounts::NGramCounts(std::vector<std::vector<uint32_t>> sequences)
    : sequences_(std::move(sequences)), prefixes_(sequences_.size()) {
  size_t positions = 0;
  for (size_t s = 0; s < sequences_.size(); ++s) {
    prefixes_[s].assign(sequences_[s].size(), 0);
    positions += sequences_[s].size();
  }
  slots_.resize(std::bit_ceil(2 * positions + 1));
}

uint32_t NGramCounts::number(uint64_t key) {
  const size_t mask = slots_.size() - 1;
  for (size_t at = mix_bits(key) & mask;; at = (at + 1) & mask) {
    Slot& slot = slots_[at];
    if (slot.order != order_) {
      slot = {key, static_cast<uint32_t>(order_), static_cast<uint32_t>(distinct_++)};
    }
    if (slot.key == key) {
      return slot.number;
    }
  }
}

void NGramCounts::advance() {
  ++order_;
  distinct_ = 0;
  for (size_t s = 0; s < sequences_.size(); ++s) {
    const std::vector<uint32_t>& units = sequences_[s];
    const size_t n_grams = units.size() >= order_ ? units.size() - order_ + 1 : 0;
    prefixes_[s].resize(n_grams);
    for (size_t i = 0; i < n_grams; ++i) {
      prefixes_[s][i] = number(uint64_t{prefixes_[s][i]} << 32 | units[i + order_ - 1]);
    }
  }
  counts_.assign(sequences_.size() * distinct_, 0);
  for (size_t s = 0; s < sequences_.size(); ++s) {
    for (const uint32_t n_gram : prefixes_[s]) {
      ++counts_[s * distinct_ + n_gram];
    }
  }
}

int64_t NGramCounts::total(size_t sequence) const { return static_cast<int64_t>(prefixes_[sequence].size()); }

}  // namespace heed
