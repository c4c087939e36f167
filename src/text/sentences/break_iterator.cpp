#include "text/sentences/break_iterator.h"

#include "base/errors.h"

namespace heed {

void require_icu(UErrorCode status, std::string_view what) {
  ensure(U_SUCCESS(status), "ICU", "{}: {}", what, u_errorName(status));
}

std::vector<size_t> breaks_of(const icu::BreakIterator& iterator, std::string_view text) {
  UErrorCode status = U_ZERO_ERROR;
  const std::unique_ptr<icu::BreakIterator> own(iterator.clone());
  const std::unique_ptr<UText, decltype(&utext_close)> utf8(
      utext_openUTF8(nullptr, text.data(), static_cast<int64_t>(text.size()), &status), utext_close);
  require_icu(status, "a text of UTF-8");
  own->setText(utf8.get(), status);
  require_icu(status, "the text of a break iterator");
  std::vector<size_t> breaks;
  for (int32_t at = own->first(); (at = own->next()) != icu::BreakIterator::DONE;) {
    breaks.push_back(static_cast<size_t>(at));
  }
  return breaks;
}

}  // namespace heed
