// The small pre-tokenizers, sequences of pre-tokenizers, and which there are.
#include <array>
#include <optional>

#include "base/errors.h"
#include "text/huggingface/normalizers/rewriting.h"
#include "text/huggingface/pre_tokenizers/pre_tokenizer.h"
#include "text/huggingface/pre_tokenizers/splitting.h"

namespace heed::huggingface {
namespace {

bool is_space_character(char32_t c) { return record_of(c).is_space(); }
bool is_punctuation_character(char32_t c) { return record_of(c).is_punctuation(); }

class SequencePreTokenizer final : public PreTokenizer {
 public:
  explicit SequencePreTokenizer(const JsonValue& json) {
    const JsonValue list = json.at("pretokenizers");
    for (size_t i = 0; i < list.size(); ++i) {
      parts_.push_back(read_pre_tokenizer(list[i]));
    }
  }

  void apply(Pieces& pieces) const override {
    for (const PreTokenizerPtr& part : parts_) {
      part->apply(pieces);
    }
  }

  bool needs_origins() const override {
    for (const PreTokenizerPtr& part : parts_) {
      if (part->needs_origins()) {
        return true;
      }
    }
    return false;
  }

  bool leave_bytes() override { return !parts_.empty() && parts_.back()->leave_bytes(); }

 private:
  std::vector<PreTokenizerPtr> parts_;
};

class SplitPreTokenizer final : public PreTokenizer {
 public:
  explicit SplitPreTokenizer(const JsonValue& json)
      : pattern_(read_pattern(json.at("pattern"))),
        behavior_(read_split_behavior(json.at("behavior"))),
        role_(json.at("invert").boolean() ? MatchRole::content : MatchRole::delimiter) {}

  void apply(Pieces& pieces) const override { split_by_pattern(pieces, *pattern_, behavior_, role_); }

 private:
  std::unique_ptr<Pattern> pattern_;
  SplitBehavior behavior_;
  MatchRole role_;
};

class WhitespacePreTokenizer final : public PreTokenizer {
 public:
  explicit WhitespacePreTokenizer(const JsonValue&) : words_(make_words_pattern()) {}
  void apply(Pieces& pieces) const override {
    split_by_pattern(pieces, *words_, SplitBehavior::removed, MatchRole::content);
  }

 private:
  std::unique_ptr<Pattern> words_;
};

class WhitespaceSplitPreTokenizer final : public PreTokenizer {
 public:
  explicit WhitespaceSplitPreTokenizer(const JsonValue&) {}
  void apply(Pieces& pieces) const override { split_by_character(pieces, is_space_character, SplitBehavior::removed); }
};

// At white space, which is left out, and around punctuation, in one pass.
class BertPreTokenizer final : public PreTokenizer {
 public:
  explicit BertPreTokenizer(const JsonValue&) {}

  void apply(Pieces& pieces) const override {
    PieceCutter cutter(pieces);
    const CharacterTable& table = character_table();
    for (const Piece& piece : pieces.list) {
      if (piece.token != Piece::kNoToken) {
        cutter.keep(piece);
        continue;
      }
      const std::string_view text = pieces.view(piece);
      uint32_t begin = piece.begin;
      for (uint32_t at = 0; at < text.size();) {
        const auto [value, size] = decode_character(text.data() + at);
        const CharacterRecord record = table[value];
        const uint32_t here = piece.begin + at;
        if (record.is_space() || record.is_punctuation()) {
          cutter.cut(begin, here);
          begin = here + size;
          if (!record.is_space()) {
            cutter.cut(here, begin);
          }
        }
        at += size;
      }
      cutter.cut(begin, piece.end);
    }
  }
};

class PunctuationPreTokenizer final : public PreTokenizer {
 public:
  explicit PunctuationPreTokenizer(const JsonValue& json) {
    if (const std::optional<JsonValue> behavior = json.find("behavior")) {
      behavior_ = read_split_behavior(*behavior);
    }
  }
  void apply(Pieces& pieces) const override { split_by_character(pieces, is_punctuation_character, behavior_); }

 private:
  SplitBehavior behavior_ = SplitBehavior::isolated;
};

class DigitsPreTokenizer final : public PreTokenizer {
 public:
  explicit DigitsPreTokenizer(const JsonValue& json)
      : behavior_(json.at("individual_digits").boolean() ? SplitBehavior::isolated : SplitBehavior::contiguous) {}
  void apply(Pieces& pieces) const override {
    split_by_character(
        pieces, [](char32_t c) { return record_of(c).is_numeric(); }, behavior_);
  }

 private:
  SplitBehavior behavior_;
};

class DelimiterPreTokenizer final : public PreTokenizer {
 public:
  explicit DelimiterPreTokenizer(const JsonValue& json) : delimiter_(json.at("delimiter").character()) {}
  void apply(Pieces& pieces) const override {
    split_by_character(
        pieces, [this](char32_t c) { return c == delimiter_; }, SplitBehavior::removed);
  }

 private:
  char32_t delimiter_;
};

class FixedLengthPreTokenizer final : public PreTokenizer {
 public:
  explicit FixedLengthPreTokenizer(const JsonValue& json) {
    if (const std::optional<JsonValue> length = json.find("length")) {
      length_ = length->integer(1, INT32_MAX);
    }
  }

  void apply(Pieces& pieces) const override {
    PieceCutter cutter(pieces);
    for (const Piece& piece : pieces.list) {
      if (piece.token != Piece::kNoToken) {
        cutter.keep(piece);
        continue;
      }
      const std::string_view text = pieces.view(piece);
      int64_t count = 0;
      uint32_t begin = 0;
      for (uint32_t at = 0; at < text.size(); ++count) {
        if (count == length_) {
          cutter.cut(piece.begin + begin, piece.begin + at);
          begin = at;
          count = 0;
        }
        at += character_size(text[at]);
      }
      cutter.cut(piece.begin + begin, piece.end);
    }
  }

 private:
  int64_t length_ = 5;
};

template <class Kind>
PreTokenizerPtr pre_tokenizer_of(const JsonValue& json) {
  return std::make_unique<Kind>(json);
}

struct KnownPreTokenizer {
  std::string_view type;
  PreTokenizerPtr (*make)(const JsonValue&);
};

constexpr std::array kKnownPreTokenizers{
    KnownPreTokenizer{"ByteLevel", make_byte_level},
    KnownPreTokenizer{"Metaspace", make_metaspace},
    KnownPreTokenizer{"UnicodeScripts", make_scripts},
    KnownPreTokenizer{"Split", pre_tokenizer_of<SplitPreTokenizer>},
    KnownPreTokenizer{"Whitespace", pre_tokenizer_of<WhitespacePreTokenizer>},
    KnownPreTokenizer{"WhitespaceSplit", pre_tokenizer_of<WhitespaceSplitPreTokenizer>},
    KnownPreTokenizer{"BertPreTokenizer", pre_tokenizer_of<BertPreTokenizer>},
    KnownPreTokenizer{"Punctuation", pre_tokenizer_of<PunctuationPreTokenizer>},
    KnownPreTokenizer{"Digits", pre_tokenizer_of<DigitsPreTokenizer>},
    KnownPreTokenizer{"CharDelimiterSplit", pre_tokenizer_of<DelimiterPreTokenizer>},
    KnownPreTokenizer{"FixedLength", pre_tokenizer_of<FixedLengthPreTokenizer>},
    KnownPreTokenizer{"Sequence", pre_tokenizer_of<SequencePreTokenizer>},
};

}  // namespace

PreTokenizerPtr read_pre_tokenizer(const JsonValue& json) {
  const std::string type = json.at("type").text();
  for (const KnownPreTokenizer& known : kKnownPreTokenizers) {
    if (known.type == type) {
      return known.make(json);
    }
  }
  json.refuse(fmt::format("the pre-tokenizer '{}' is unknown", type));
}

}  // namespace heed::huggingface
