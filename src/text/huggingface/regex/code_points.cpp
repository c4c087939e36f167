#include "text/huggingface/regex/code_points.h"

#include <unicode/uniset.h>
#include <unicode/uscript.h>

#include <algorithm>
#include <string>
#include <utility>

namespace heed::huggingface {
namespace {

constexpr char32_t kLast = 0x10ffff;

struct NamedCategories {
  std::string_view name;
  Categories categories;
};

constexpr Categories kCased = bit_of(Category::lu) | bit_of(Category::ll) | bit_of(Category::lt);
constexpr Categories kSeparators = bits_between(Category::zs, Category::zp);
constexpr Categories kOthers = bits_between(Category::cc, Category::cn);

// Names without case, spaces, hyphens and underscores.
constexpr std::array kNamedCategories{
    NamedCategories{"l", kLetters},
    NamedCategories{"letter", kLetters},
    NamedCategories{"lc", kCased},
    NamedCategories{"lu", bit_of(Category::lu)},
    NamedCategories{"uppercaseletter", bit_of(Category::lu)},
    NamedCategories{"ll", bit_of(Category::ll)},
    NamedCategories{"lowercaseletter", bit_of(Category::ll)},
    NamedCategories{"lt", bit_of(Category::lt)},
    NamedCategories{"lm", bit_of(Category::lm)},
    NamedCategories{"lo", bit_of(Category::lo)},
    NamedCategories{"m", kMarks},
    NamedCategories{"mark", kMarks},
    NamedCategories{"mn", bit_of(Category::mn)},
    NamedCategories{"mc", bit_of(Category::mc)},
    NamedCategories{"me", bit_of(Category::me)},
    NamedCategories{"n", kNumbers},
    NamedCategories{"number", kNumbers},
    NamedCategories{"nd", bit_of(Category::nd)},
    NamedCategories{"digit", bit_of(Category::nd)},
    NamedCategories{"nl", bit_of(Category::nl)},
    NamedCategories{"no", bit_of(Category::no)},
    NamedCategories{"p", kPunctuation},
    NamedCategories{"punctuation", kPunctuation},
    NamedCategories{"pc", bit_of(Category::pc)},
    NamedCategories{"pd", bit_of(Category::pd)},
    NamedCategories{"ps", bit_of(Category::ps)},
    NamedCategories{"pe", bit_of(Category::pe)},
    NamedCategories{"pi", bit_of(Category::pi)},
    NamedCategories{"pf", bit_of(Category::pf)},
    NamedCategories{"po", bit_of(Category::po)},
    NamedCategories{"s", kSymbols},
    NamedCategories{"symbol", kSymbols},
    NamedCategories{"sm", bit_of(Category::sm)},
    NamedCategories{"sc", bit_of(Category::sc)},
    NamedCategories{"sk", bit_of(Category::sk)},
    NamedCategories{"so", bit_of(Category::so)},
    NamedCategories{"z", kSeparators},
    NamedCategories{"separator", kSeparators},
    NamedCategories{"zs", bit_of(Category::zs)},
    NamedCategories{"zl", bit_of(Category::zl)},
    NamedCategories{"zp", bit_of(Category::zp)},
    NamedCategories{"c", kOthers},
    NamedCategories{"other", kOthers},
    NamedCategories{"cc", bit_of(Category::cc)},
    NamedCategories{"cntrl", bit_of(Category::cc)},
    NamedCategories{"cf", bit_of(Category::cf)},
    NamedCategories{"cs", bit_of(Category::cs)},
    NamedCategories{"co", bit_of(Category::co)},
    NamedCategories{"cn", bit_of(Category::cn)},
};

std::string plain_name(std::string_view name) {
  std::string plain;
  for (const char c : name) {
    if (c != ' ' && c != '_' && c != '-') {
      plain += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    }
  }
  return plain;
}

}  // namespace

CodePoints::CodePoints(std::vector<Range> ranges) {
  std::ranges::sort(ranges, {}, &Range::first);
  for (const Range range : ranges) {
    if (!ranges_.empty() && range.first <= ranges_.back().last + 1) {
      ranges_.back().last = std::max(ranges_.back().last, range.last);
    } else {
      ranges_.push_back(range);
    }
  }
  for (const Range range : ranges_) {
    for (char32_t c = range.first; c <= std::min<char32_t>(range.last, 127); ++c) {
      ascii_[c >> 6U] |= uint64_t{1} << (c & 63U);
    }
  }
}

CodePoints CodePoints::of(char32_t first, char32_t last) { return CodePoints({{first, last}}); }

CodePoints CodePoints::in(Categories categories) {
  return where([=](const CharacterRecord& record) { return record.in(categories); });
}

void CodePoints::add(const CodePoints& other) {
  std::vector<Range> ranges = ranges_;
  ranges.insert(ranges.end(), other.ranges_.begin(), other.ranges_.end());
  *this = CodePoints(std::move(ranges));
}

CodePoints CodePoints::inverted() const {
  std::vector<Range> ranges;
  char32_t next = 0;
  for (const Range range : ranges_) {
    if (range.first > next) {
      ranges.push_back({next, range.first - 1});
    }
    next = range.last + 1;
  }
  if (next <= kLast) {
    ranges.push_back({next, kLast});
  }
  return CodePoints(std::move(ranges));
}

CodePoints CodePoints::common_with(const CodePoints& other) const {
  CodePoints outside = inverted();
  outside.add(other.inverted());
  return outside.inverted();
}

CodePoints CodePoints::in_any_case() const {
  icu::UnicodeSet set;
  for (const Range range : ranges_) {
    set.add(static_cast<UChar32>(range.first), static_cast<UChar32>(range.last));
  }
  set.closeOver(USET_CASE_INSENSITIVE);
  set.removeAllStrings();
  std::vector<Range> ranges = ranges_;
  for (int32_t i = 0; i < set.getRangeCount(); ++i) {
    ranges.push_back({static_cast<char32_t>(set.getRangeStart(i)), static_cast<char32_t>(set.getRangeEnd(i))});
  }
  return CodePoints(std::move(ranges));
}

bool CodePoints::contains_above(char32_t c) const {
  const auto it = std::ranges::lower_bound(ranges_, c, {}, &Range::last);
  return it != ranges_.end() && it->first <= c;
}

CodePoints space_code_points() {
  return CodePoints::where([](const CharacterRecord& record) { return record.is_space(); });
}

// As Rust's \w, without the two joiners and with Latin-1's superscripts and fractions.
CodePoints word_code_points() {
  CodePoints joiners = CodePoints::of(0x200c, 0x200d);
  CodePoints words = CodePoints::where([](const CharacterRecord& record) { return record.is_word(); });
  words = words.common_with(joiners.inverted());
  for (const char32_t c : {0xb2, 0xb3, 0xb9, 0xbc, 0xbd, 0xbe}) {
    words.add(CodePoints::of(c, c));
  }
  return words;
}

std::optional<CodePoints> code_points_with(std::string_view property) {
  const std::string name = plain_name(property);
  for (const NamedCategories& named : kNamedCategories) {
    if (named.name == name) {
      return CodePoints::in(named.categories);
    }
  }
  if (name == "han") {
    return CodePoints::where([](const CharacterRecord& record) { return record.is_han(); });
  }
  if (name == "alpha" || name == "alphabetic") {
    return CodePoints::where([](const CharacterRecord& record) { return record.is_alphabetic(); });
  }
  if (name == "alnum") {
    CodePoints set = CodePoints::where([](const CharacterRecord& record) { return record.is_alphabetic(); });
    set.add(CodePoints::in(bit_of(Category::nd)));
    return set;
  }
  if (name == "space" || name == "whitespace") {
    return space_code_points();
  }
  if (name == "word") {
    return word_code_points();
  }
  if (name == "any") {
    return CodePoints::of(0, kLast);
  }
  if (name == "assigned") {
    return CodePoints::in(bit_of(Category::cn)).inverted();
  }
  const int32_t script = u_getPropertyValueEnum(UCHAR_SCRIPT, std::string(property).c_str());
  if (script == UCHAR_INVALID_CODE) {
    return std::nullopt;
  }
  UErrorCode status = U_ZERO_ERROR;
  icu::UnicodeSet set;
  set.applyIntPropertyValue(UCHAR_SCRIPT, script, status);
  CodePoints found;
  for (int32_t i = 0; U_SUCCESS(status) && i < set.getRangeCount(); ++i) {
    found.add(CodePoints::of(static_cast<char32_t>(set.getRangeStart(i)), static_cast<char32_t>(set.getRangeEnd(i))));
  }
  return found;
}

}  // namespace heed::huggingface
