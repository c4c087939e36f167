#include "text/huggingface/post_processors/post_processor.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/errors.h"
#include "text/huggingface/characters/byte_characters.h"
#include "text/huggingface/characters/characters.h"
#include "text/huggingface/models/model.h"
#include "text/tokenizer.h"

namespace heed::huggingface {
namespace {

EncodedSlot slot_of_token(TokenId id, std::string text, int32_t type) {
  EncodedSlot slot{.type = type, .ids = {id}, .offsets = {ByteRange{}}, .texts = {}};
  slot.texts.push_back(std::move(text));
  return slot;
}

// White space at the beginning and at the end of tokens is not part of what they cover. `prefixed`: a space before the
// text was put there, so the first token keeps it.
void trim_offsets(EncodedSlot& slot, bool prefixed) {
  const auto is_space = [](char32_t c) { return c == character_of_byte(' ') || record_of(c).is_space(); };
  for (size_t i = 0; i < slot.offsets.size(); ++i) {
    const std::string_view text = slot.texts[i];
    uint32_t leading = 0, trailing = 0;
    for (size_t at = 0; at < text.size() && is_space(decode_character(text.data() + at).value); ++leading) {
      at += character_size(text[at]);
    }
    for (size_t end = text.size(); end > 0; ++trailing) {
      size_t begin = end - 1;
      while (continues_character(text[begin])) {
        --begin;
      }
      if (!is_space(decode_character(text.data() + begin).value)) {
        break;
      }
      end = begin;
    }
    auto& [begin, end] = slot.offsets[i];
    if (leading > 0) {
      if ((i == 0 || begin == 0) && prefixed && leading == 1) {
        leading = 0;
      }
      begin = std::min(begin + leading, end);
    }
    if (trailing > 0 && end >= trailing) {
      end = std::max(end - trailing, begin);
    }
  }
}

class ByteLevelPostProcessor final : public PostProcessor {
 public:
  explicit ByteLevelPostProcessor(const JsonValue& json)
      : trims_(json.at("trim_offsets").boolean()), prefixed_(json.at("add_prefix_space").boolean()) {}

  void apply(std::vector<EncodedSlot>& slots, Frame) const override {
    for (EncodedSlot& slot : slots) {
      if (trims_) {
        trim_offsets(slot, prefixed_);
      }
    }
  }
  bool trims_offsets() const override { return trims_; }

 private:
  bool trims_, prefixed_;
};

struct NamedToken {
  std::string text;
  TokenId id;

  explicit NamedToken(const JsonValue& json)
      : text(json[0].text()), id(static_cast<int32_t>(json[1].integer(0, kMaxTokenId))) {}
};

// [CLS] a [SEP] b [SEP], the second text and its [SEP] of type 1; or <s> a </s></s> b </s>, all of type 0.
class PairPostProcessor final : public PostProcessor {
 public:
  PairPostProcessor(const JsonValue& json, bool roberta)
      : sep_(json.at("sep")), cls_(json.at("cls")), roberta_(roberta) {
    if (roberta) {
      trims_ = json.at("trim_offsets").boolean();
      prefixed_ = json.at("add_prefix_space").boolean();
    }
  }

  void apply(std::vector<EncodedSlot>& slots, Frame frame) const override {
    std::vector<EncodedSlot> result;
    for (size_t i = 0; i < slots.size(); ++i) {
      EncodedSlot& slot = slots[i];
      if (roberta_) {
        slot.type = 0;
        if (trims_) {
          trim_offsets(slot, prefixed_);
        }
      }
      const int32_t type = roberta_ || i == 0 ? 0 : 1;
      if (frame == Frame::framed && (i == 0 || roberta_)) {
        const NamedToken& first = i == 0 ? cls_ : sep_;
        result.push_back(slot_of_token(first.id, first.text, type));
      }
      result.push_back(std::move(slot));
      if (frame == Frame::framed) {
        result.push_back(slot_of_token(sep_.id, sep_.text, type));
      }
    }
    slots = std::move(result);
  }
  bool trims_offsets() const override { return trims_; }

 private:
  NamedToken sep_, cls_;
  bool roberta_, trims_ = false, prefixed_ = false;
};

class TemplatePostProcessor final : public PostProcessor {
 public:
  explicit TemplatePostProcessor(const JsonValue& json) {
    const JsonValue tokens = json.at("special_tokens");
    require<FormatError>(tokens.json().is_object(), tokens.where(), "expected an object");
    for (const auto& [name, value] : tokens.json().items()) {
      const JsonValue token(value, fmt::format("{}.{}", tokens.where(), show_piece(name)));
      std::vector<EncodedSlot>& slots = tokens_[name];
      const JsonValue ids = token.at("ids"), texts = token.at("tokens");
      require<FormatError>(ids.size() == texts.size(), token.where(), "{} ids, but {} tokens", ids.size(),
                           texts.size());
      for (size_t i = 0; i < ids.size(); ++i) {
        const TokenId id(static_cast<int32_t>(ids[i].integer(0, kMaxTokenId)));
        slots.push_back(slot_of_token(id, texts[i].text(), 0));
      }
    }
    single_ = read_template(json.at("single"));
    pair_ = read_template(json.at("pair"));
    require<FormatError>(std::ranges::none_of(single_, [](const Item& item) { return item.text == 1; }), json.where(),
                         "the template for one text has a second one");
  }

  void apply(std::vector<EncodedSlot>& slots, Frame frame) const override {
    ensure(!slots.empty() && slots.size() <= 2, "tokenizer", "a template for {} texts", slots.size());
    std::vector<EncodedSlot> result;
    for (const Item& item : slots.size() == 1 ? single_ : pair_) {
      if (item.text != FrameSlot::kToken) {
        result.push_back(slots[static_cast<size_t>(item.text)]);
        result.back().type = item.type;
      } else if (frame == Frame::framed) {
        for (const EncodedSlot& token : *item.tokens) {
          result.push_back(token);
          result.back().type = item.type;
        }
      }
    }
    slots = std::move(result);
  }

 private:
  struct Item {
    int32_t text = FrameSlot::kToken;
    int32_t type = 0;
    const std::vector<EncodedSlot>* tokens = nullptr;
  };

  // A list of objects; old files write strings such as "[CLS]", "$A" and "$B:1".
  std::vector<Item> read_template(const JsonValue& json) const {
    std::vector<Item> items;
    for (size_t i = 0; i < json.size(); ++i) {
      const JsonValue item = json[i];
      if (item.json().is_string()) {
        items.push_back(read_short_item(item));
      } else if (const std::optional<JsonValue> text = item.find("Sequence")) {
        const std::string id = text->at("id").text();
        require<FormatError>(id == "A" || id == "B", text->where(), "expected the text A or B, found '{}'", id);
        items.push_back({id == "A" ? 0 : 1, read_type(text->at("type_id")), nullptr});
      } else {
        const JsonValue token = item.at("SpecialToken");
        items.push_back({FrameSlot::kToken, read_type(token.at("type_id")), tokens_of(token.at("id"))});
      }
    }
    return items;
  }

  static int32_t read_type(const JsonValue& json) { return static_cast<int32_t>(json.integer(0, INT32_MAX)); }

  Item read_short_item(const JsonValue& json) const {
    std::string text = json.text();
    Item item;
    if (const size_t colon = text.rfind(':'); colon != std::string::npos && colon + 1 < text.size() &&
                                              text.find_first_not_of("0123456789", colon + 1) == std::string::npos) {
      item.type = std::stoi(text.substr(colon + 1, 6));
      text.resize(colon);
    }
    if (!text.starts_with('$')) {
      item.tokens = tokens_of(json, text);
      return item;
    }
    const std::string name = text.substr(1);
    item.text = name == "B" || name == "b" ? 1 : 0;
    if (!name.empty() && name.find_first_not_of("0123456789") == std::string::npos) {
      item.type = std::stoi(name.substr(0, 6));
    }
    return item;
  }

  const std::vector<EncodedSlot>* tokens_of(const JsonValue& json) const { return tokens_of(json, json.text()); }
  const std::vector<EncodedSlot>* tokens_of(const JsonValue& json, const std::string& name) const {
    const auto it = tokens_.find(name);
    require<FormatError>(it != tokens_.end(), json.where(), "'{}' is not one of the special_tokens", name);
    return &it->second;
  }

  std::map<std::string, std::vector<EncodedSlot>> tokens_;
  std::vector<Item> single_, pair_;
};

class SequencePostProcessor final : public PostProcessor {
 public:
  explicit SequencePostProcessor(const JsonValue& json) {
    const JsonValue list = json.at("processors");
    size_t framing = 0;
    for (size_t i = 0; i < list.size(); ++i) {
      parts_.push_back(read_post_processor(list[i]));
      framing += list[i].at("type").text() == "ByteLevel" ? 0 : 1;
      require<FormatError>(framing <= 1, list[i].where(), "a second post-processor that puts tokens around texts");
    }
  }

  void apply(std::vector<EncodedSlot>& slots, Frame frame) const override {
    for (const PostProcessorPtr& part : parts_) {
      part->apply(slots, frame);
    }
  }
  bool trims_offsets() const override {
    return std::ranges::any_of(parts_, [](const PostProcessorPtr& part) { return part->trims_offsets(); });
  }

 private:
  std::vector<PostProcessorPtr> parts_;
};

}  // namespace

PostProcessorPtr read_post_processor(const JsonValue& json) {
  const std::string type = json.at("type").text();
  if (type == "TemplateProcessing") {
    return std::make_unique<TemplatePostProcessor>(json);
  }
  if (type == "BertProcessing" || type == "RobertaProcessing") {
    return std::make_unique<PairPostProcessor>(json, type == "RobertaProcessing");
  }
  if (type == "ByteLevel") {
    return std::make_unique<ByteLevelPostProcessor>(json);
  }
  if (type == "Sequence") {
    return std::make_unique<SequencePostProcessor>(json);
  }
  json.refuse(fmt::format("the post-processor '{}' is unknown", type));
}

}  // namespace heed::huggingface
