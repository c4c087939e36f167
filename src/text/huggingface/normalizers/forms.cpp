// Normal forms, with the origins of characters. ICU's data are newer than those of the tokenizers library, but Unicode
// never changes the decomposition of a character once there is one: it suffices to leave alone what came later.
#include <unicode/normalizer2.h>
#include <unicode/unistr.h>

#include <algorithm>
#include <array>

#include "base/errors.h"
#include "text/huggingface/characters/characters.h"
#include "text/huggingface/normalizers/normalizer.h"

namespace heed::huggingface {
namespace {

const icu::Normalizer2& icu_form(const icu::Normalizer2* (*get)(UErrorCode&)) {
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* const form = get(status);
  ensure(U_SUCCESS(status), "text", "normalization: {}", u_errorName(status));
  return *form;
}

// ICU makes each when it is first asked for. The thread sanitizer knows how a static is initialized.
const icu::Normalizer2& icu_normalizer(Form form) {
  static const std::array<const icu::Normalizer2*, 4> kForms{
      &icu_form(icu::Normalizer2::getNFCInstance), &icu_form(icu::Normalizer2::getNFDInstance),
      &icu_form(icu::Normalizer2::getNFKCInstance), &icu_form(icu::Normalizer2::getNFKDInstance)};
  return *kForms[static_cast<size_t>(form)];
}

// A character on its way, with what it does to origins: 0 replaces an old character, 1 is one more, negative leaves
// old ones out (see TextRewriter).
struct FormCharacter {
  char32_t value;
  int32_t change;
  uint8_t combining;
};

uint8_t combining_class(char32_t c) {
  return c < 0x300 || !record_of(c).is_normalized()
             ? 0
             : icu_normalizer(Form::nfc).getCombiningClass(static_cast<UChar32>(c));
}

void decompose(std::string_view text, const icu::Normalizer2& form, std::vector<FormCharacter>& out) {
  size_t sorted = 0;
  const auto sort_marks = [&] {
    std::stable_sort(out.begin() + static_cast<ptrdiff_t>(sorted), out.end(),
                     [](const FormCharacter& a, const FormCharacter& b) { return a.combining < b.combining; });
    sorted = out.size();
  };
  const auto push = [&](char32_t c, int32_t change) {
    const uint8_t combining = combining_class(c);
    if (combining == 0) {
      sort_marks();
    }
    out.push_back({c, change, combining});
  };
  icu::UnicodeString parts;
  for (size_t at = 0; at < text.size();) {
    const auto [c, size] = decode_character(text.data() + at);
    at += size;
    if (c < 0x80 || !record_of(c).is_normalized() || form.getDecomposition(static_cast<UChar32>(c), parts) == 0) {
      push(c, 0);
      continue;
    }
    for (int32_t i = 0; i < parts.length();) {
      const UChar32 part = parts.char32At(i);
      push(static_cast<char32_t>(part), i == 0 ? 0 : 1);
      i += U16_LENGTH(part);
    }
  }
  sort_marks();
}

bool compose(char32_t a, char32_t b, char32_t& composed) {
  const UChar32 c = icu_normalizer(Form::nfc).composePair(static_cast<UChar32>(a), static_cast<UChar32>(b));
  if (c < 0 || !record_of(static_cast<char32_t>(c)).is_normalized()) {
    return false;
  }
  composed = static_cast<char32_t>(c);
  return true;
}

// A starter takes in what follows, unless a mark of the same or a higher class stands between. A composed character
// leaves out the old characters of its parts.
void recompose(std::vector<FormCharacter>& text) {
  std::vector<FormCharacter> out;
  out.reserve(text.size());
  size_t starter = 0;
  bool has_starter = false;
  int32_t last_class = -1;  // of the marks after the starter
  for (const FormCharacter& c : text) {
    char32_t composed = 0;
    if (has_starter && last_class < static_cast<int32_t>(c.combining) + (last_class < 0 ? 1 : 0) &&
        compose(out[starter].value, c.value, composed)) {
      out[starter].value = composed;
      out[starter].change += c.change - 1;
      continue;
    }
    if (c.combining == 0) {
      starter = out.size();
      has_starter = true;
      last_class = -1;
    } else if (has_starter) {
      last_class = c.combining;
    }
    out.push_back(c);
  }
  text = std::move(out);
}

class FormNormalizer final : public Normalizer {
 public:
  explicit FormNormalizer(Form form) : form_(form) {}
  void apply(AlignedText& text) const override { to_form(text, form_); }

 private:
  Form form_;
};

}  // namespace

void to_form(AlignedText& text, Form form) {
  const std::string_view view = text.view();
  if (is_ascii(view)) {
    return;
  }
  UErrorCode status = U_ZERO_ERROR;
  const icu::StringPiece piece(view.data(), static_cast<int32_t>(view.size()));
  if (icu_normalizer(form).isNormalizedUTF8(piece, status) != 0 && U_SUCCESS(status)) {
    return;
  }
  const bool composed = form == Form::nfc || form == Form::nfkc;
  std::vector<FormCharacter> characters;
  characters.reserve(view.size());
  decompose(view, icu_normalizer(form), characters);
  if (composed) {
    recompose(characters);
  }
  TextRewriter rewriter(text);
  for (const FormCharacter& c : characters) {
    rewriter.put_changed(c.value, c.change);
  }
  rewriter.finish();
}

NormalizerPtr make_form_normalizer(Form form) { return std::make_unique<FormNormalizer>(form); }

}  // namespace heed::huggingface
