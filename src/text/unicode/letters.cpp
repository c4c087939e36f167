#include "text/unicode/letters.h"

#include <unicode/uchar.h>

#include "text/unicode/normalization.h"
#include "text/unicode/unicode.h"

namespace heed {

std::string letters_of(std::string_view text) {
  constexpr char32_t kTypographicApostrophe = 0x2019;
  std::u32string kept;
  for (const char32_t c : to_code_points(normalize(text, {.form = NormalForm::nfc}))) {
    const bool is_letter = (U_GET_GC_MASK(static_cast<UChar32>(c)) & (U_GC_L_MASK | U_GC_M_MASK)) != 0;
    if (is_letter || c == '\'' || c == kTypographicApostrophe) {
      kept += c == kTypographicApostrophe ? U'\'' : c;
    } else if (!kept.empty() && kept.back() != ' ') {
      kept += ' ';
    }
  }
  if (!kept.empty() && kept.back() == ' ') {
    kept.pop_back();
  }
  return to_lower_case(to_utf8(kept));
}

}  // namespace heed
