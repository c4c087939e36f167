#include "text/unicode/normalization.h"

#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>

#include <limits>

#include "base/text/names.h"
#include "text/unicode/unicode.h"

namespace heed {
namespace {

const icu::Normalizer2& instance(const icu::Normalizer2* (*get)(UErrorCode&)) {
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* const normalizer = get(status);
  ensure(U_SUCCESS(status), "text", "normalization: {}", u_errorName(status));
  return *normalizer;
}

// ICU makes each when it is first asked for. The thread sanitizer does not see how ICU keeps other threads from an
// unfinished one, but it knows how a static is initialized.
const icu::Normalizer2& normalizer_to(NormalForm form) {
  if (form == NormalForm::nfc) {
    static const icu::Normalizer2& nfc = instance(icu::Normalizer2::getNFCInstance);
    return nfc;
  }
  static const icu::Normalizer2& nfkc = instance(icu::Normalizer2::getNFKCInstance);
  return nfkc;
}

std::string to_form(std::string_view text, NormalForm form) {
  if (form == NormalForm::none) {
    return std::string(text);
  }
  UErrorCode status = U_ZERO_ERROR;
  std::string result;
  icu::StringByteSink<std::string> sink(&result, static_cast<int32_t>(text.size()));
  normalizer_to(form).normalizeUTF8(0, icu::StringPiece(text.data(), static_cast<int32_t>(text.size())), sink, nullptr,
                                    status);
  ensure(U_SUCCESS(status), "text", "normalization: {}", u_errorName(status));
  return result;
}

}  // namespace

std::string normalize(std::string_view text, Normalization normalization) {
  // ICU counts in 32 bits, and a compatibility form may be 18 times as long as the original.
  constexpr size_t kMaxBytes = std::numeric_limits<int32_t>::max() / 18;
  require<FormatError>(text.size() <= kMaxBytes, "text", "{} bytes in one piece, at most {} can be normalized",
                       text.size(), kMaxBytes);
  const std::optional<size_t> invalid = find_invalid_utf8(text);
  require<FormatError>(!invalid, "text", "byte {} is not UTF-8", invalid.value_or(0));
  std::string result = to_form(text, normalization.form);
  if (normalization.letter_case == LetterCase::lower) {
    // The lower case of a composed character may have a composed form of its own, hence the second pass.
    result = to_form(to_lower_case(result), normalization.form);
  }
  return result;
}

Normalization parse_normalization(std::string_view name) {
  return value_named("normalization", name, kNormalizationNames);
}

}  // namespace heed
