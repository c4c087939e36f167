// BERT's normalizer: controls out, white space to spaces, spaces around Chinese characters, accents off, lower case.
#include "text/huggingface/characters/characters.h"
#include "text/huggingface/normalizers/normalizer.h"
#include "text/huggingface/normalizers/rewriting.h"

namespace heed::huggingface {
namespace {

// The tokenizers library writes U+2B920 where CJK Extension E begins at U+2B820, and its ids depend on it.
bool is_chinese(char32_t c) {
  return (c >= 0x4e00 && c <= 0x9fff) || (c >= 0x3400 && c <= 0x4dbf) || (c >= 0x20000 && c <= 0x2a6df) ||
         (c >= 0x2a700 && c <= 0x2b73f) || (c >= 0x2b740 && c <= 0x2b81f) || (c >= 0x2b920 && c <= 0x2ceaf) ||
         (c >= 0xf900 && c <= 0xfaff) || (c >= 0x2f800 && c <= 0x2fa1f);
}

bool is_unclean(char32_t c) {
  return c == 0 || c == 0xfffd || (c != U'\t' && c != U'\n' && c != U'\r' && record_of(c).is_other());
}

class BertNormalizer final : public Normalizer {
 public:
  explicit BertNormalizer(const JsonValue& json)
      : clean_(json.at("clean_text").boolean()),
        chinese_(json.at("handle_chinese_chars").boolean()),
        lower_(json.at("lowercase").boolean()),
        accents_(json.boolean_or("strip_accents", lower_)) {}

  void apply(AlignedText& text) const override {
    if (clean_) {
      remove_characters(text, is_unclean);
      map_characters(text, [](char32_t c) { return record_of(c).is_space() ? U' ' : c; });
    }
    const bool ascii = is_ascii(text.view());
    if (chinese_ && !ascii) {
      space_chinese(text);
    }
    if (accents_ && !ascii) {
      to_form(text, Form::nfd);
      remove_characters(text, [](char32_t c) { return record_of(c).is_accent(); });
    }
    if (lower_) {
      to_lower_case(text);
    }
  }

 private:
  static void space_chinese(AlignedText& text) {
    const std::string_view view = text.view();
    bool any = false;
    for (size_t at = 0; at < view.size() && !any;) {
      const auto [value, size] = decode_character(view.data() + at);
      any = is_chinese(value);
      at += size;
    }
    if (!any) {
      return;
    }
    TextRewriter rewriter(text);
    for (size_t at = 0; at < view.size();) {
      const auto [value, size] = decode_character(view.data() + at);
      if (is_chinese(value)) {
        rewriter.replace(U' ');
        rewriter.insert(value);
        rewriter.insert(U' ');
      } else {
        rewriter.replace(value);
      }
      at += size;
    }
    rewriter.finish();
  }

  bool clean_, chinese_, lower_, accents_;
};

}  // namespace

NormalizerPtr make_bert_normalizer(const JsonValue& json) { return std::make_unique<BertNormalizer>(json); }

}  // namespace heed::huggingface
