// Layout: the trie's size in bytes (u32), the trie's units (u32 each), the pool of texts, each ended by a zero byte.
//
// A unit, from the lowest bit: 8 bits label, 1 bit "has a value", 1 bit "offset counts in 256s", 21 bits offset, and
// 1 bit that is set in units that hold a value (31 bits). At node i with offset o, the child for byte c is unit
// i ^ o ^ c if its label is c, and the value is unit i ^ o.
#include "text/unicode/character_map.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/errors.h"

namespace heed {
namespace {

constexpr uint32_t kValueBit = uint32_t{1} << 31;
constexpr int kMatches = 32;  // the library's room for matches at one position

class Trie {
 public:
  Trie(std::string_view units, std::string_view pool, std::string_view where)
      : units_(units.size() / sizeof(uint32_t)), pool_(pool), where_(where), matches_(units_.size(), kUnseen) {
    std::memcpy(units_.data(), units.data(), units_.size() * sizeof(uint32_t));
  }

  void check() {
    std::vector<Step> path{enter(0)};
    while (!path.empty()) {
      Step& step = path.back();
      if (step.next_byte == 256) {
        leave(path);
        continue;
      }
      const uint32_t byte = step.next_byte++;
      const uint32_t child = step.base ^ byte;
      if (byte == 0 || (units_[child] & (kValueBit | 0xff)) != byte) {
        continue;
      }
      if (matches_[child] == kUnseen) {
        path.push_back(enter(child));
      } else {
        require_that(matches_[child] != kOpen, "contains a cycle");
        step.matches = std::max(step.matches, matches_[child]);
      }
    }
  }

 private:
  static constexpr int8_t kUnseen = -1, kOpen = -2;

  struct Step {
    uint32_t node, base, next_byte;
    int8_t own, matches;  // whether the node has a value; the maximum over walks below it
  };

  void require_that(bool condition, std::string_view what) const {
    require<FormatError>(condition, where_, "the model's character map {}", what);
  }

  Step enter(uint32_t node) {
    const uint32_t unit = units_[node];
    const uint32_t base = node ^ ((unit >> 10) << ((unit & (1U << 9)) >> 6));
    require_that((base | 0xff) < units_.size(), "points outside of itself");
    const bool has_value = (unit >> 8 & 1) != 0;
    require_that(!has_value || (units_[base] & ~kValueBit) < pool_.size(), "points outside of its texts");
    matches_[node] = kOpen;
    return {node, base, 0, static_cast<int8_t>(has_value ? 1 : 0), 0};
  }

  void leave(std::vector<Step>& path) {
    const Step step = path.back();
    path.pop_back();
    const auto total = static_cast<int8_t>(step.own + step.matches);
    require_that(total <= kMatches, "has too many matches at one position");
    matches_[step.node] = total;
    if (!path.empty()) {
      path.back().matches = std::max(path.back().matches, total);
    }
  }

  std::vector<uint32_t> units_;
  std::string_view pool_, where_;
  // Per unit: the maximum number of matches of a walk that starts there, or kUnseen or kOpen.
  std::vector<int8_t> matches_;
};

}  // namespace

void check_character_map(std::string_view map, std::string_view where) {
  if (map.empty()) {
    return;
  }
  uint32_t trie_size = 0;
  const bool sized = map.size() > sizeof trie_size;
  if (sized) {
    std::memcpy(&trie_size, map.data(), sizeof trie_size);
    map.remove_prefix(sizeof trie_size);
  }
  require<FormatError>(
      sized && trie_size >= 1024 && trie_size % sizeof(uint32_t) == 0 && trie_size < map.size() && map.back() == '\0',
      where, "the model's character map is cut off");
  Trie(map.substr(0, trie_size), map.substr(trie_size), where).check();
}

}  // namespace heed
