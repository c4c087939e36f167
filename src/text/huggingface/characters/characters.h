// What Hugging Face's tokenizers library knows about characters. Each of its parts was made with a version of Unicode
// of its own, which the properties here follow (see tools/make_character_tables.mjs):
//   categories, white space, words    16.0   as its regular expressions
//   numbers, lower case               17.0   as Rust's standard library
//   punctuation, accents, controls     8.0   as its Bert normalizer
//   marks, normal forms                9.0   as its other normalizers
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heed::huggingface {

// Unicode's general categories, by their short names: upper case letter, ..., unassigned.
enum class Category : uint8_t {
  lu,
  ll,
  lt,
  lm,
  lo,
  mn,
  mc,
  me,
  nd,
  nl,
  no,
  pc,
  pd,
  ps,
  pe,
  pi,
  pf,
  po,
  sm,
  sc,
  sk,
  so,
  zs,
  zl,
  zp,
  cc,
  cf,
  cs,
  co,
  cn
};

// A set of categories as bits.
using Categories = uint32_t;

constexpr Categories bit_of(Category category) { return 1U << static_cast<uint32_t>(category); }
constexpr Categories bits_between(Category first, Category last) { return (bit_of(last) << 1U) - bit_of(first); }

inline constexpr Categories kLetters = bits_between(Category::lu, Category::lo);
inline constexpr Categories kMarks = bits_between(Category::mn, Category::me);
inline constexpr Categories kNumbers = bits_between(Category::nd, Category::no);
inline constexpr Categories kPunctuation = bits_between(Category::pc, Category::po);
inline constexpr Categories kSymbols = bits_between(Category::sm, Category::so);

enum class GraphemeBreak : uint8_t {
  other,
  cr,
  lf,
  control,
  extend,
  zwj,
  regional,
  prepend,
  spacing,
  l,
  v,
  t,
  lv,
  lvt,
  pictographic
};

// What is known about one code point.
class CharacterRecord {
 public:
  constexpr explicit CharacterRecord(uint32_t bits) : bits_(bits) {}

  constexpr Category category() const { return static_cast<Category>(bits_ & 31U); }
  constexpr bool in(Categories categories) const { return (categories >> (bits_ & 31U) & 1U) != 0; }
  constexpr GraphemeBreak grapheme_break() const { return static_cast<GraphemeBreak>(bits_ >> 5U & 15U); }
  constexpr bool is_space() const { return flag(9); }
  constexpr bool is_word() const { return flag(10); }  // \w of Rust's regular expressions
  constexpr bool is_alphabetic() const { return flag(11); }
  constexpr bool is_numeric() const { return flag(12); }
  constexpr bool is_punctuation() const { return flag(13); }  // with all of ASCII's
  constexpr bool is_accent() const { return flag(14); }       // a nonspacing mark
  constexpr bool is_other() const { return flag(15); }        // control, format or private
  constexpr bool is_mark() const { return flag(16); }
  constexpr bool is_normalized() const { return flag(17); }  // known to the version of the normal forms
  constexpr bool is_han() const { return flag(18); }

 private:
  constexpr bool flag(uint32_t bit) const { return (bits_ >> bit & 1U) != 0; }

  uint32_t bits_;
};

class CharacterTable {
 public:
  CharacterTable();

  CharacterRecord operator[](char32_t c) const { return CharacterRecord(c < kAscii ? ascii_[c] : records_[number(c)]); }

 private:
  static constexpr uint32_t kShift = 7, kMask = 127, kAscii = 128;

  uint8_t number(char32_t c) const {
    return numbers_[static_cast<size_t>(blocks_[c >> kShift]) << kShift | (c & kMask)];
  }

  std::array<uint32_t, kAscii> ascii_{};
  std::array<uint16_t, (0x110000 >> kShift)> blocks_;
  std::vector<uint8_t> numbers_;  // of records
  std::array<uint32_t, 256> records_{};
};

const CharacterTable& character_table();

inline CharacterRecord record_of(char32_t c) { return character_table()[c]; }

// The small letter; U+0130 alone has two (i and U+0307), of which this is the first.
char32_t lower_case(char32_t c);

struct DecodedCharacter {
  char32_t value;
  uint32_t size;  // bytes
};

// The character at the beginning of well-formed, nonempty text.
inline DecodedCharacter decode_character(const char* text) {
  const auto byte = [&](size_t i) { return static_cast<char32_t>(static_cast<unsigned char>(text[i])); };
  if (byte(0) < 0x80) {
    return {byte(0), 1};
  }
  if (byte(0) < 0xe0) {
    return {(byte(0) & 0x1fU) << 6U | (byte(1) & 0x3fU), 2};
  }
  if (byte(0) < 0xf0) {
    return {(byte(0) & 0x0fU) << 12U | (byte(1) & 0x3fU) << 6U | (byte(2) & 0x3fU), 3};
  }
  return {(byte(0) & 0x07U) << 18U | (byte(1) & 0x3fU) << 12U | (byte(2) & 0x3fU) << 6U | (byte(3) & 0x3fU), 4};
}

inline uint32_t character_size(char first_byte) {
  const auto byte = static_cast<unsigned char>(first_byte);
  return byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

inline bool continues_character(char byte) { return (static_cast<unsigned char>(byte) & 0xc0U) == 0x80U; }

inline void append_character(std::string& text, char32_t c) {
  const auto put = [&](char32_t byte) { text.push_back(static_cast<char>(static_cast<unsigned char>(byte))); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xc0U | c >> 6U);
    put(0x80U | (c & 0x3fU));
  } else if (c < 0x10000) {
    put(0xe0U | c >> 12U);
    put(0x80U | (c >> 6U & 0x3fU));
    put(0x80U | (c & 0x3fU));
  } else {
    put(0xf0U | c >> 18U);
    put(0x80U | (c >> 12U & 0x3fU));
    put(0x80U | (c >> 6U & 0x3fU));
    put(0x80U | (c & 0x3fU));
  }
}

inline std::string to_text(char32_t c) {
  std::string text;
  append_character(text, c);
  return text;
}

size_t count_characters(std::string_view text);
bool is_ascii(std::string_view text);

}  // namespace heed::huggingface
