#include "text/huggingface/characters/graphemes.h"

#include "text/huggingface/characters/characters.h"

namespace heed::huggingface {
namespace {

using Break = GraphemeBreak;

bool is_any_control(Break b) { return b == Break::control || b == Break::cr || b == Break::lf; }

// Whether two neighbours stay together, by rules that need nothing more.
bool joins(Break left, Break right) {
  if (left == Break::cr && right == Break::lf) {
    return true;
  }
  if (is_any_control(left) || is_any_control(right)) {
    return false;
  }
  if (right == Break::extend || right == Break::zwj || right == Break::spacing || left == Break::prepend) {
    return true;
  }
  switch (left) {
    case Break::l:
      return right == Break::l || right == Break::v || right == Break::lv || right == Break::lvt;
    case Break::lv:
    case Break::v:
      return right == Break::v || right == Break::t;
    case Break::lvt:
    case Break::t:
      return right == Break::t;
    default:
      return false;
  }
}

}  // namespace

size_t grapheme_end(std::string_view text, size_t begin) {
  auto [value, size] = decode_character(text.data() + begin);
  size_t at = begin + size;
  Break left = record_of(value).grapheme_break();
  bool pictographic = left == Break::pictographic;  // with marks behind it
  size_t regionals = left == Break::regional ? 1 : 0;
  while (at < text.size()) {
    const auto [next, next_size] = decode_character(text.data() + at);
    const Break right = record_of(next).grapheme_break();
    const bool emoji = left == Break::zwj && right == Break::pictographic && pictographic;
    const bool flag = left == Break::regional && right == Break::regional && regionals % 2 == 1;
    if (!joins(left, right) && !emoji && !flag) {
      break;
    }
    pictographic = right == Break::pictographic || (pictographic && (right == Break::extend || right == Break::zwj));
    regionals = right == Break::regional ? regionals + 1 : 0;
    left = right;
    at += next_size;
  }
  return at;
}

}  // namespace heed::huggingface
