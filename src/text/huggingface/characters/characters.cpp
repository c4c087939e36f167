#include "text/huggingface/characters/characters.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "text/huggingface/characters/character_data.h"

namespace heed::huggingface {

CharacterTable::CharacterTable() {
  std::ranges::copy(character_records(), records_.begin());
  std::vector<uint8_t> flat;
  flat.reserve(0x110000);
  const auto runs = character_runs();
  for (size_t i = 0; i < runs.size(); i += 2) {
    flat.insert(flat.end(), runs[i], static_cast<uint8_t>(runs[i + 1]));
  }
  // Equal blocks are stored once.
  std::map<std::string_view, uint16_t> known;
  for (size_t block = 0; block < blocks_.size(); ++block) {
    const std::string_view bytes(reinterpret_cast<const char*>(flat.data()) + (block << kShift), kMask + 1);
    const auto [it, added] = known.emplace(bytes, static_cast<uint16_t>(known.size()));
    blocks_[block] = it->second;
    if (added) {
      numbers_.insert(numbers_.end(), bytes.begin(), bytes.end());
    }
  }
  for (char32_t c = 0; c < kAscii; ++c) {
    ascii_[c] = records_[number(c)];
  }
}

const CharacterTable& character_table() {
  static const CharacterTable kTable;
  return kTable;
}

char32_t lower_case(char32_t c) {
  if (c < 0x80) {
    return c >= U'A' && c <= U'Z' ? c + 32 : c;
  }
  const auto runs = lower_case_runs();
  const auto it = std::ranges::lower_bound(runs, c, {}, &LowerCaseRun::last);
  if (it == runs.end() || c < it->first || (c - it->first) % it->step != 0) {
    return c;
  }
  return static_cast<char32_t>(static_cast<int32_t>(c) + it->delta);
}

size_t count_characters(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(text, [](char c) { return !continues_character(c); }));
}

bool is_ascii(std::string_view text) {
  size_t at = 0;
  for (; at + 8 <= text.size(); at += 8) {
    uint64_t bytes = 0;
    std::memcpy(&bytes, text.data() + at, 8);
    if ((bytes & 0x8080808080808080ULL) != 0) {
      return false;
    }
  }
  for (; at < text.size(); ++at) {
    if (static_cast<unsigned char>(text[at]) >= 0x80) {
      return false;
    }
  }
  return true;
}

}  // namespace heed::huggingface
