#include "text/unicode/normalization.h"

#include <unicode/bytestream.h>
#include <unicode/casemap.h>
#include <unicode/edits.h>
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

// Says what was changed to `edits`, which may be null.
std::string to_form(std::string_view text, NormalForm form, icu::Edits* edits) {
  UErrorCode status = U_ZERO_ERROR;
  std::string result;
  icu::StringByteSink<std::string> sink(&result, static_cast<int32_t>(text.size()));
  normalizer_to(form).normalizeUTF8(0, icu::StringPiece(text.data(), static_cast<int32_t>(text.size())), sink, edits,
                                    status);
  ensure(U_SUCCESS(status), "text", "normalization: {}", u_errorName(status));
  return result;
}

std::string to_lower(std::string_view text, icu::Edits* edits) {
  UErrorCode status = U_ZERO_ERROR;
  std::string lower;
  icu::StringByteSink<std::string> sink(&lower, static_cast<int32_t>(text.size()));
  icu::CaseMap::utf8ToLower("", 0, icu::StringPiece(text.data(), static_cast<int32_t>(text.size())), sink, edits,
                            status);
  ensure(U_SUCCESS(status), "text", "lower case: {}", u_errorName(status));
  return lower;
}

void follow(const icu::Edits& edits, TextOrigins& origins) {
  UErrorCode status = U_ZERO_ERROR;
  TextOrigins::Change change(origins);
  icu::Edits::Iterator edit = edits.getFineIterator();
  while (edit.next(status)) {
    if (edit.hasChange()) {
      change.replace(static_cast<size_t>(edit.oldLength()), static_cast<size_t>(edit.newLength()));
    } else {
      change.keep(static_cast<size_t>(edit.oldLength()));
    }
  }
  ensure(U_SUCCESS(status), "text", "edits: {}", u_errorName(status));
  change.finish();
}

// Calls step(change) for each change that the normalization makes, in order; change(text, edits) is the changed text.
template <class Step>
void each_change(Normalization normalization, const Step& step) {
  const bool forms = normalization.form != NormalForm::none;
  const auto to_normal_form = [&](const std::string& text, icu::Edits* edits) {
    return to_form(text, normalization.form, edits);
  };
  if (forms) {
    step(to_normal_form);
  }
  if (normalization.letter_case == LetterCase::lower) {
    step(to_lower);
    // The lower case of a composed character may have a composed form of its own, hence the second pass.
    if (forms) {
      step(to_normal_form);
    }
  }
}

void require_normalizable(std::string_view text) {
  // ICU counts in 32 bits, and a compatibility form may be 18 times as long as the original.
  constexpr size_t kMaxBytes = std::numeric_limits<int32_t>::max() / 18;
  require<FormatError>(text.size() <= kMaxBytes, "text", "{} bytes in one piece, at most {} can be normalized",
                       text.size(), kMaxBytes);
  const std::optional<size_t> invalid = find_invalid_utf8(text);
  require<FormatError>(!invalid, "text", "byte {} is not UTF-8", invalid.value_or(0));
}

}  // namespace

std::string normalize(std::string_view text, Normalization normalization) {
  require_normalizable(text);
  std::string result(text);
  each_change(normalization, [&](const auto& change) { result = change(result, nullptr); });
  return result;
}

TracedText normalize_traced(std::string_view text, Normalization normalization) {
  require_normalizable(text);
  TracedText result{std::string(text), TextOrigins(text.size())};
  each_change(normalization, [&](const auto& change) {
    icu::Edits edits;
    result.text = change(result.text, &edits);
    follow(edits, result.origins);
  });
  return result;
}

Normalization parse_normalization(std::string_view name) {
  return value_named("normalization", name, kNormalizationNames);
}

}  // namespace heed
