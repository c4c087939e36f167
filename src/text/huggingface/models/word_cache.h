// The tokens of words that were seen before, in a table of fixed size that forgets. For one thread.
#pragma once

#include <array>
#include <cstring>
#include <string_view>
#include <vector>

#include "text/huggingface/models/model.h"

namespace heed::huggingface {

class WordCache {
 public:
  static constexpr size_t kLongestWord = 23, kMostTokens = 7;

  WordCache() : slots_(kSlots) {}

  // Appends the tokens of a word that is known; the word's bytes are those of its tokens.
  bool find(std::string_view word, uint64_t hash, std::vector<ModelToken>& tokens) const {
    const Slot& slot = slots_[hash & (kSlots - 1)];
    if (slot.hash != hash || slot.size != word.size() || std::memcmp(slot.word.data(), word.data(), word.size()) != 0) {
      return false;
    }
    uint32_t begin = 0;
    for (size_t i = 0; i < slot.count; ++i) {
      tokens.push_back({slot.ids[i], begin, slot.ends[i]});
      begin = slot.ends[i];
    }
    return true;
  }

  // Keeps the tokens from `first` on, if there is room for them and they lie end to end from byte 0 on.
  void keep(std::string_view word, uint64_t hash, const std::vector<ModelToken>& tokens, size_t first) {
    const size_t count = tokens.size() - first;
    if (word.size() > kLongestWord || count > kMostTokens || count == 0) {
      return;
    }
    uint32_t at = 0;
    for (size_t i = first; i < tokens.size(); ++i) {
      if (tokens[i].begin != at || tokens[i].end > kLongestWord) {
        return;
      }
      at = tokens[i].end;
    }
    Slot& slot = slots_[hash & (kSlots - 1)];
    slot.hash = hash;
    slot.size = static_cast<uint8_t>(word.size());
    slot.count = static_cast<uint8_t>(count);
    std::memcpy(slot.word.data(), word.data(), word.size());
    for (size_t i = 0; i < count; ++i) {
      slot.ids[i] = tokens[first + i].id;
      slot.ends[i] = static_cast<uint8_t>(tokens[first + i].end);
    }
  }

 private:
  static constexpr size_t kSlots = 1U << 14U;

  struct Slot {
    uint64_t hash = 0;
    std::array<int32_t, kMostTokens> ids{};
    std::array<char, kLongestWord> word{};
    std::array<uint8_t, kMostTokens> ends{};
    uint8_t size = 0, count = 0;
  };

  std::vector<Slot> slots_;
};

}  // namespace heed::huggingface
