#include "text/sentences/sentence_breaks.h"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>

namespace heed {
namespace {

bool is_digit_byte(char c) { return c >= '0' && c <= '9'; }
bool is_blank_byte(char c) { return c == ' ' || c == '\t'; }
bool is_letter_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<uint8_t>(c) >= 0x80;
}

const std::vector<std::string_view>& abbreviations_of(std::string_view language) {
  static const std::map<std::string_view, std::vector<std::string_view>> kAbbreviations{
      {"en", {"e.g.", "i.e.",    "cf.",  "vs.",  "Dr.",  "Mr.",   "Mrs.", "Ms.",  "Prof.", "St.",  "No.",
              "Fig.", "approx.", "Inc.", "Ltd.", "Jr.",  "Sr.",   "Vol.", "Gen.", "Col.",  "Sgt.", "Capt.",
              "pp.",  "ed.",     "Jan.", "Feb.", "Aug.", "Sept.", "Oct.", "Nov.", "Dec."}},
      {"de",
       {"z. B.", "z.B.", "z.\u00a0B.", "d. h.", "d.h.",  "d.\u00a0h.", "u. a.", "u.a.", "i. d. R.", "o. Ä.", "u. U.",
        "v. a.", "bzw.", "ca.",        "Dr.",   "Prof.", "Hr.",        "Fr.",   "Nr.",  "Str.",     "St.",   "Abb.",
        "Tab.",  "vgl.", "inkl.",      "evtl.", "ggf.",  "bspw.",      "sog.",  "Mio.", "Mrd.",     "Tel.",  "Jh.",
        "Abs.",  "Art.", "Bd.",        "Jan.",  "Feb.",  "Aug.",       "Sept.", "Okt.", "Nov.",     "Dez."}},
      {"fr",
       {"M.", "MM.", "Dr.", "p. ex.", "c.-à-d.", "env.", "av.", "art.", "chap.", "fig.", "vol.", "cf.", "n.", "St."}},
      {"es",
       {"p. ej.", "Sr.", "Sra.", "Srta.", "Dr.", "Dra.", "D.", "Ud.", "Uds.", "EE. UU.", "EE.UU.", "núm.", "pág.",
        "fig.", "cap.", "art.", "vol.", "Av."}},
      {"it",
       {"Sig.", "Sig.ra", "Dott.", "Prof.", "Dr.", "ecc.", "p. es.", "ad es.", "fig.", "pag.", "art.", "cap.", "vol."}},
      {"pt", {"Sr.", "Sra.", "Dr.", "Dra.", "Prof.", "p. ex.", "núm.", "pág.", "fig.", "art.", "cap.", "vol.", "Av."}},
      {"nl",
       {"bijv.", "d.w.z.", "o.a.", "m.b.t.", "i.p.v.", "Dhr.", "Mevr.", "Dr.", "Prof.", "ca.", "nr.", "blz.", "enz.",
        "t.o.v."}},
      {"sv", {"t.ex.", "t. ex.", "bl.a.", "bl. a.", "d.v.s.", "Dr.", "Prof.", "ca.", "nr.", "kl.", "s.k.", "m.fl."}},
      {"da", {"f.eks.", "bl.a.", "dvs.", "Dr.", "Prof.", "ca.", "nr.", "kl.", "Hr.", "Fr."}},
      {"pl", {"np.", "tzn.", "m.in.", "dr.", "prof.", "ul.", "nr.", "str.", "ok.", "tys.", "mln.", "św."}},
      {"cs", {"např.", "tzn.", "tj.", "Dr.", "prof.", "ul.", "č.", "str.", "cca.", "tis.", "mil.", "sv."}},
      {"ru",
       {"т. е.", "т.е.", "т. д.", "т. п.", "т. к.", "т.к.", "г.", "ул.", "им.", "см.", "рис.", "стр.", "тыс.", "млн.",
        "руб.", "проф."}},
      {"uk",
       {"т. д.", "т. п.", "т. зв.", "р.", "вул.", "ім.", "див.", "рис.", "стор.", "тис.", "млн.", "грн.", "проф."}},
      {"tr", {"Dr.", "Prof.", "vb.", "vs.", "Sn.", "Av.", "Cad.", "Sok.", "No."}}};
  static const std::vector<std::string_view> kNone;
  const auto found = kAbbreviations.find(language);
  return found == kAbbreviations.end() ? kNone : found->second;
}

char small(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool is_same(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return small(x) == small(y); });
}

// Where a word begins, or what is not part of one.
bool begins_word(std::string_view text, size_t at) {
  return at == 0 || (!is_letter_byte(text[at - 1]) && !is_digit_byte(text[at - 1]));
}

std::string_view without_blanks_at_end(std::string_view text) {
  while (!text.empty() && is_blank_byte(text.back())) {
    text.remove_suffix(1);
  }
  return text;
}

// Whether the break lies at the end of an abbreviation, or at a space in one.
bool is_in_abbreviation(const SentenceBreak& at, std::string_view abbreviation) {
  for (size_t end = abbreviation.size(); end != std::string_view::npos; end = abbreviation.rfind(' ', end - 1)) {
    const std::string_view first = abbreviation.substr(0, end);
    const std::string_view rest = end == abbreviation.size() ? "" : abbreviation.substr(end + 1);
    const std::string_view before = without_blanks_at_end(at.before);
    if (before.size() >= first.size() && is_same(before.substr(before.size() - first.size()), first) &&
        begins_word(before, before.size() - first.size()) && is_same(at.after.substr(0, rest.size()), rest)) {
      return true;
    }
  }
  return false;
}

bool begins_with_small_letter(std::string_view text) {
  const auto* const bytes = reinterpret_cast<const uint8_t*>(text.data());
  int32_t at = 0;
  UChar32 c = -1;
  if (!text.empty()) {
    U8_NEXT(bytes, at, static_cast<int32_t>(text.size()), c);
  }
  return c >= 0 && u_islower(c);
}

}  // namespace

SentenceMarks sentence_marks(std::string_view language) {
  static constexpr std::string_view kDottedOrdinals[] = {"de", "da", "no", "nb", "nn", "fi", "et", "lv", "pl", "cs",
                                                         "sk", "sl", "hr", "sr", "bs", "hu", "is", "tr", "lb", "fo"};
  return {.abbreviations = abbreviations_of(language),
          .has_dotted_ordinals = std::ranges::find(kDottedOrdinals, language) != std::end(kDottedOrdinals)};
}

bool is_inside_sentence(const SentenceBreak& at, const SentenceMarks& marks) {
  if (begins_with_small_letter(at.after) ||
      std::ranges::any_of(marks.abbreviations, [&](std::string_view one) { return is_in_abbreviation(at, one); })) {
    return true;
  }
  std::string_view before = without_blanks_at_end(at.before);
  if (before.size() < 2 || before.back() != '.') {
    return false;
  }
  before.remove_suffix(1);
  const char last = before.back();
  if (last >= 'A' && last <= 'Z' && last != 'I') {
    return begins_word(before, before.size() - 1);
  }
  size_t digits = 0;
  while (digits < before.size() && is_digit_byte(before[before.size() - 1 - digits])) {
    ++digits;
  }
  const size_t begin = before.size() - digits;
  const bool after_number =
      begin > 0 && (before[begin - 1] == '.' || before[begin - 1] == ',' || before[begin - 1] == ':');
  return marks.has_dotted_ordinals && (digits == 1 || digits == 2) && begins_word(before, begin) && !after_number;
}

size_t list_mark_of(std::string_view line) {
  static constexpr std::string_view kMarks[] = {"-", "*", "+", ">", "•", "◦", "▪", "‣", "·", "–", "—", "#"};
  size_t at = 0;
  const auto skip_blanks = [&] {
    const size_t begin = at;
    while (at < line.size() && is_blank_byte(line[at])) {
      ++at;
    }
    return at > begin;
  };
  skip_blanks();
  while (true) {
    const size_t begin = at;
    for (const std::string_view mark : kMarks) {
      while (line.substr(at).starts_with(mark)) {
        at += mark.size();
      }
    }
    if (at == begin) {  // "12." "3)" "(a)" "b)"
      const bool opened = at < line.size() && line[at] == '(';
      at += opened ? 1 : 0;
      const size_t number = at;
      while (at < line.size() && is_digit_byte(line[at]) && at - number < 3) {
        ++at;
      }
      const bool is_number = at > number;
      at += !is_number && at < line.size() && line[at] >= 'a' && line[at] <= 'z' ? 1 : 0;
      const bool closes =
          at > number && at < line.size() && (line[at] == ')' || (is_number && !opened && line[at] == '.'));
      at = closes ? at + 1 : begin;
    }
    if (at == begin || !skip_blanks()) {
      return begin;
    }
  }
}

}  // namespace heed
