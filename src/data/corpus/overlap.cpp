#include "data/corpus/overlap.h"

#include "base/random.h"

namespace heed {
namespace {

uint64_t key_of(std::span<const int32_t> sequence) {
  uint64_t key = sequence.size();
  for (const int32_t token : sequence) {
    key = mix_bits(key ^ static_cast<uint32_t>(token)) + 0x9e3779b97f4a7c15ULL;
  }
  return key;
}

}  // namespace

void SequenceSearch::look_for(std::span<const int32_t> sequence) {
  ++entries_[key_of(sequence)].times;
  ++wanted_;
}

void SequenceSearch::scan(std::span<const int32_t> sequence) {
  if (const auto entry = entries_.find(key_of(sequence)); entry != entries_.end()) {
    entry->second.found = true;
  }
}

int64_t SequenceSearch::found() const {
  int64_t sum = 0;
  for (const auto& [key, entry] : entries_) {
    sum += entry.found ? entry.times : 0;
  }
  return sum;
}

}  // namespace heed
