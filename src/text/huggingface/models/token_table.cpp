#include "text/huggingface/models/token_table.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace heed::huggingface {
namespace {

constexpr uint64_t kMultiplier = 0x9e3779b97f4a7c15ULL;
constexpr uint64_t kMixer = 0xd6e8feb86659fd93ULL;

uint64_t mix(uint64_t hash, uint64_t bytes) {
  hash = (hash ^ bytes) * kMultiplier;
  return hash ^ hash >> 32U;
}

uint64_t read_bytes(const char* bytes, size_t size) {
  uint64_t value = 0;
  std::memcpy(&value, bytes, size);
  return value;
}

}  // namespace

uint64_t hash_bytes(std::string_view bytes) {
  const char* at = bytes.data();
  size_t left = bytes.size();
  uint64_t hash = kMixer ^ (bytes.size() * kMultiplier);
  for (; left >= 8; left -= 8, at += 8) {
    hash = mix(hash, read_bytes(at, 8));
  }
  if (left > 0) {
    hash = mix(hash, read_bytes(at, left));
  }
  return mix(hash, kMixer);
}

void TokenTable::reserve(size_t texts, size_t bytes) {
  texts_.reserve(bytes);
  const size_t slots = std::bit_ceil(std::max<size_t>(16, texts * 2));
  if (slots > slots_.size()) {
    grow(slots);
  }
}

void TokenTable::grow(size_t slots) {
  std::vector<Slot> old(slots);
  old.swap(slots_);
  for (const Slot& slot : old) {
    if (slot.id != kNone) {
      const std::string_view text = std::string_view(texts_).substr(slot.begin, slot.size);
      *slot_of(text, hash_bytes(text)) = slot;
    }
  }
}

TokenTable::Slot* TokenTable::slot_of(std::string_view text, uint64_t hash) {
  const size_t mask = slots_.size() - 1;
  const auto check = static_cast<uint32_t>(hash >> 32U);
  for (size_t i = hash & mask;; i = (i + 1) & mask) {
    Slot& slot = slots_[i];
    if (slot.id == kNone || (slot.check == check && slot.size == text.size() &&
                             std::memcmp(texts_.data() + slot.begin, text.data(), text.size()) == 0)) {
      return &slot;
    }
  }
}

void TokenTable::set(std::string_view text, int32_t id) {
  if (slots_.empty() || count_ * 2 >= slots_.size()) {
    grow(std::max<size_t>(16, slots_.size() * 2));
  }
  const uint64_t hash = hash_bytes(text);
  Slot* const slot = slot_of(text, hash);
  if (slot->id == kNone) {
    *slot = {static_cast<uint32_t>(hash >> 32U), id, static_cast<uint32_t>(texts_.size()),
             static_cast<uint32_t>(text.size())};
    texts_ += text;
    ++count_;
    longest_ = std::max(longest_, text.size());
  }
  slot->id = id;
}

int32_t TokenTable::find(std::string_view text, uint64_t hash) const {
  if (count_ == 0 || text.size() > longest_) {
    return kNone;
  }
  const size_t mask = slots_.size() - 1;
  const auto check = static_cast<uint32_t>(hash >> 32U);
  for (size_t i = hash & mask;; i = (i + 1) & mask) {
    const Slot& slot = slots_[i];
    if (slot.id == kNone) {
      return kNone;
    }
    if (slot.check == check && slot.size == text.size() &&
        std::memcmp(texts_.data() + slot.begin, text.data(), text.size()) == 0) {
      return slot.id;
    }
  }
}

}  // namespace heed::huggingface
