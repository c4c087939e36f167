// The small normalizers, sequences of normalizers, and which there are.
#include <algorithm>
#include <optional>

#include "base/errors.h"
#include "text/huggingface/characters/byte_characters.h"
#include "text/huggingface/characters/characters.h"
#include "text/huggingface/normalizers/normalizer.h"
#include "text/huggingface/normalizers/rewriting.h"
#include "text/huggingface/regex/pattern.h"

namespace heed::huggingface {
namespace {

class SequenceNormalizer final : public Normalizer {
 public:
  explicit SequenceNormalizer(const JsonValue& json) {
    const JsonValue list = json.at("normalizers");
    for (size_t i = 0; i < list.size(); ++i) {
      parts_.push_back(read_normalizer(list[i]));
    }
  }

  void apply(AlignedText& text) const override {
    for (const NormalizerPtr& part : parts_) {
      part->apply(text);
    }
  }

 private:
  std::vector<NormalizerPtr> parts_;
};

class LowercaseNormalizer final : public Normalizer {
 public:
  void apply(AlignedText& text) const override { to_lower_case(text); }
};

class StripNormalizer final : public Normalizer {
 public:
  explicit StripNormalizer(const JsonValue& json)
      : left_(json.at("strip_left").boolean()), right_(json.at("strip_right").boolean()) {}

  void apply(AlignedText& text) const override {
    const std::string_view view = text.view();
    size_t begin = 0, end = view.size();
    while (left_ && begin < end) {
      const auto [value, size] = decode_character(view.data() + begin);
      if (!record_of(value).is_space()) {
        break;
      }
      begin += size;
    }
    while (right_ && end > begin) {
      size_t last = end - 1;
      while (continues_character(view[last])) {
        --last;
      }
      if (!record_of(decode_character(view.data() + last).value).is_space()) {
        break;
      }
      end = last;
    }
    if (end - begin < view.size()) {
      text.keep_only(begin, end);
    }
  }

 private:
  bool left_, right_;
};

class StripAccentsNormalizer final : public Normalizer {
 public:
  void apply(AlignedText& text) const override {
    remove_characters(text, [](char32_t c) { return record_of(c).is_mark(); });
  }
};

class NmtNormalizer final : public Normalizer {
 public:
  void apply(AlignedText& text) const override {
    remove_characters(text, [](char32_t c) {
      return (c >= 1 && c <= 8) || c == 0x0b || (c >= 0x0e && c <= 0x1f) || c == 0x7f || c == 0x8f || c == 0x9f;
    });
    map_characters(text, [](char32_t c) { return becomes_space(c) ? U' ' : c; });
  }

 private:
  static bool becomes_space(char32_t c) {
    return c == 9 || c == 10 || c == 12 || c == 13 || c == 0x1680 || (c >= 0x200b && c <= 0x200f) || c == 0x2028 ||
           c == 0x2029 || c == 0x2581 || c == 0xfeff || c == 0xfffd;
  }
};

class PrependNormalizer final : public Normalizer {
 public:
  explicit PrependNormalizer(const JsonValue& json) : text_(json.at("prepend").text()) {}
  void apply(AlignedText& text) const override { prepend_text(text, text_); }

 private:
  std::string text_;
};

class ReplaceNormalizer final : public Normalizer {
 public:
  explicit ReplaceNormalizer(const JsonValue& json)
      : pattern_(read_pattern(json.at("pattern"))), content_(json.at("content").text()) {}

  void apply(AlignedText& text) const override {
    std::vector<ByteRange> matches;
    pattern_->find_all(text.view(), matches);
    if (matches.empty()) {
      return;
    }
    TextRewriter rewriter(text);
    for (const ByteRange match : matches) {
      rewriter.keep(match.begin);
      rewriter.skip(match.end - match.begin);
      rewriter.insert_text(content_);
    }
    rewriter.keep(text.size());
    rewriter.finish();
  }

 private:
  std::unique_ptr<Pattern> pattern_;
  std::string content_;
};

class ByteLevelNormalizer final : public Normalizer {
 public:
  void apply(AlignedText& text) const override { map_bytes(text); }
};

template <class Kind>
NormalizerPtr plain(const JsonValue&) {
  return std::make_unique<Kind>();
}

template <class Kind>
NormalizerPtr with_settings(const JsonValue& json) {
  return std::make_unique<Kind>(json);
}

template <Form kForm>
NormalizerPtr form(const JsonValue&) {
  return make_form_normalizer(kForm);
}

struct KnownNormalizer {
  std::string_view type;
  NormalizerPtr (*make)(const JsonValue&);
};

constexpr std::array kKnownNormalizers{
    KnownNormalizer{"BertNormalizer", make_bert_normalizer},
    KnownNormalizer{"NFC", form<Form::nfc>},
    KnownNormalizer{"NFD", form<Form::nfd>},
    KnownNormalizer{"NFKC", form<Form::nfkc>},
    KnownNormalizer{"NFKD", form<Form::nfkd>},
    KnownNormalizer{"Lowercase", plain<LowercaseNormalizer>},
    KnownNormalizer{"Strip", with_settings<StripNormalizer>},
    KnownNormalizer{"StripAccents", plain<StripAccentsNormalizer>},
    KnownNormalizer{"Nmt", plain<NmtNormalizer>},
    KnownNormalizer{"Prepend", with_settings<PrependNormalizer>},
    KnownNormalizer{"Replace", with_settings<ReplaceNormalizer>},
    KnownNormalizer{"ByteLevel", plain<ByteLevelNormalizer>},
    KnownNormalizer{"Precompiled", make_precompiled_normalizer},
    KnownNormalizer{"Sequence", with_settings<SequenceNormalizer>},
};

}  // namespace

std::unique_ptr<Pattern> read_pattern(const JsonValue& json) {
  if (const std::optional<JsonValue> text = json.find("String")) {
    require<FormatError>(!text->text().empty(), text->where(), "expected a text to look for, found ''");
    return make_literal_pattern(text->text());
  }
  const JsonValue expression = json.at("Regex");
  return make_regex_pattern(expression.text(), expression.where());
}

NormalizerPtr read_normalizer(const JsonValue& json) {
  const std::string type = json.at("type").text();
  for (const KnownNormalizer& known : kKnownNormalizers) {
    if (known.type == type) {
      return known.make(json);
    }
  }
  json.refuse(fmt::format("the normalizer '{}' is unknown", type));
}

void to_lower_case(AlignedText& text) {
  constexpr char32_t kCapitalIWithDot = 0x130;
  if (is_ascii(text.view())) {
    if (std::ranges::any_of(text.view(), [](char c) { return c >= 'A' && c <= 'Z'; })) {
      for (char& c : text.editable()) {
        c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
      }
    }
    return;
  }
  if (text.view().find("\xc4\xb0") == std::string_view::npos) {
    map_characters(text, lower_case);
    return;
  }
  const std::string old(text.view());
  TextRewriter rewriter(text);
  for (size_t at = 0; at < old.size();) {
    const auto [value, size] = decode_character(old.data() + at);
    rewriter.replace(lower_case(value));
    if (value == kCapitalIWithDot) {
      rewriter.insert(0x307);
    }
    at += size;
  }
  rewriter.finish();
}

void prepend_text(AlignedText& text, std::string_view prefix) {
  if (text.empty() || prefix.empty()) {
    return;
  }
  TextRewriter rewriter(text);
  rewriter.insert_text_at(prefix, text.tracking() == Tracking::on ? text.origin(0) : ByteRange{});
  rewriter.keep(text.size());
  rewriter.finish();
}

void map_bytes(AlignedText& text) {
  if (text.empty()) {
    return;
  }
  const std::string old(text.view());
  TextRewriter rewriter(text);
  for (size_t at = 0; at < old.size();) {
    const uint32_t size = character_size(old[at]);
    for (uint32_t i = 0; i < size; ++i) {
      rewriter.put_changed(character_of_byte(static_cast<uint8_t>(old[at + i])), i == 0 ? 0 : 1);
    }
    at += size;
  }
  rewriter.finish();
}

}  // namespace heed::huggingface
