#include "text/huggingface/huggingface_tokenizer.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "base/errors.h"
#include "text/huggingface/characters/byte_characters.h"
#include "text/huggingface/characters/characters.h"
#include "text/huggingface/pipeline.h"
#include "text/unicode/unicode.h"

namespace heed {
namespace {

using huggingface::JsonValue;
using huggingface::Pipeline;

bool is_printing_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f'; });
}

// Whether show_piece() certainly changes nothing: of UTF-8, printing ASCII, U+00C0 to U+05FF, U+2581, and U+3040 to
// U+D7FF, among which are neither spaces nor control characters.
bool is_plain(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const auto lead = static_cast<unsigned char>(text[i]);
    if (lead > ' ' && lead < 0x7f) {
      continue;
    }
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : '\0');
    if (lead >= 0xc3 && lead <= 0xd7) {
      i += 1;
    } else if ((lead == 0xe3 && next >= 0x81) || (lead >= 0xe4 && lead <= 0xed) ||
               text.substr(i).starts_with("\u2581")) {
      i += 2;
    } else {
      return false;
    }
  }
  return true;
}

// As show_piece(), which takes its time with what is mostly plain text: valid UTF-8.
std::string show_text(std::string_view text) { return is_plain(text) ? std::string(text) : show_piece(text); }

// Bytes that may end inside of a character; those that form none are written like <0xE2>.
std::string show_bytes(std::string_view bytes) {
  std::string shown;
  if (bytes.starts_with(' ') && is_printing_ascii(bytes.substr(1))) {
    return shown.append("\u2581").append(bytes.substr(1));
  }
  while (!bytes.empty()) {
    const size_t good = std::min(find_invalid_utf8(bytes).value_or(bytes.size()), bytes.size());
    shown += show_text(bytes.substr(0, good));
    bytes.remove_prefix(good);
    if (!bytes.empty()) {
      shown += fmt::format("<0x{:02X}>", static_cast<unsigned char>(bytes.front()));
      bytes.remove_prefix(1);
    }
  }
  return shown;
}

bool has_byte_level_decoder(const JsonValue& json) {
  const auto decoder = json.find("decoder");
  return decoder && decoder->text_or("type", "") == "ByteLevel";
}

std::vector<std::string> shown_pieces_of(const Pipeline& pipeline, bool byte_level) {
  std::vector<std::string> pieces;
  pieces.reserve(static_cast<size_t>(pipeline.size()));
  for (int32_t id = 0; id < pipeline.size(); ++id) {
    const std::string* const text = pipeline.text(id);
    const bool added = pipeline.added().find(id) != nullptr;
    if (text == nullptr) {
      pieces.push_back(fmt::format("<no token {}>", id));
    } else if (const auto bytes = byte_level && !added ? huggingface::bytes_from_characters(*text) : std::nullopt) {
      pieces.push_back(show_bytes(*bytes));
    } else {
      pieces.push_back(show_text(*text));
    }
  }
  return pieces;
}

TokenId token_named(const Pipeline& pipeline, const std::string& name) {
  if (name.empty()) {
    return kNoToken;
  }
  for (const auto& [id, token] : pipeline.added().tokens()) {
    if (token.text == name) {
      return TokenId(id);
    }
  }
  return TokenId(pipeline.model().find(name));
}

// The first of these names that a special token has.
TokenId usual_token(const Pipeline& pipeline, std::initializer_list<const char*> names) {
  for (const char* const name : names) {
    for (const auto& [id, token] : pipeline.added().tokens()) {
      if (token.special && token.text == name) {
        return TokenId(id);
      }
    }
  }
  return kNoToken;
}

// The tokens of a frame: the first before the text, the last behind it, and between a pair.
struct FrameEnds {
  TokenId begin = kNoToken, end = kNoToken, between = kNoToken;
};

FrameEnds ends_of(const Pipeline& pipeline) {
  FrameEnds ends;
  bool seen = false;
  for (const huggingface::FrameSlot& slot : pipeline.frame(1)) {
    if (slot.text != huggingface::FrameSlot::kToken) {
      seen = true;
    } else if (!seen && ends.begin == kNoToken) {
      ends.begin = slot.token;
    } else if (seen) {
      ends.end = slot.token;
    }
  }
  seen = false;
  for (const huggingface::FrameSlot& slot : pipeline.frame(2)) {
    if (slot.text == 1) {
      break;
    }
    if (seen && ends.between == kNoToken) {
      ends.between = slot.token;
    }
    seen = seen || slot.text == 0;
  }
  return ends;
}

TokenId first_known(std::initializer_list<TokenId> tokens) {
  for (const TokenId token : tokens) {
    if (token != kNoToken) {
      return token;
    }
  }
  return kNoToken;
}

SpecialTokens special_tokens_of(const Pipeline& pipeline, const SpecialNames& names) {
  const FrameEnds ends = ends_of(pipeline);
  const auto named = [&](const std::string& name) { return token_named(pipeline, name); };
  SpecialTokens special;
  special.bos = first_known({named(names.bos), named(names.cls), ends.begin,
                             usual_token(pipeline, {"<s>", "<bos>", "<|begin_of_text|>", "[CLS]", "[BOS]"})});
  special.eos = first_known(
      {named(names.eos), ends.end, named(names.sep),
       usual_token(pipeline, {"</s>", "<eos>", "<|im_end|>", "<|end_of_text|>", "<|endoftext|>", "[SEP]", "[EOS]"})});
  special.sep = first_known({named(names.sep), ends.between == special.bos ? kNoToken : ends.between});
  special.unk = first_known({named(names.unk), TokenId(pipeline.model().unknown())});
  special.pad = first_known({named(names.pad), usual_token(pipeline, {"<pad>", "[PAD]", "<|pad|>", "<|endoftext|>"}),
                             special.eos, special.unk, TokenId(0)});
  // A model that spells everything has none; like pad, it never comes out of text.
  special.unk = first_known({special.unk, special.pad});
  return special;
}

// heed's own member of a file, which others pass over.
constexpr const char* kUseMember = "heed";
constexpr const char* kRowsMember = "rows";
constexpr const char* kStepsMember = "merge_steps";

template <class Names>
auto named_texts(Names& names) {
  return std::array{std::pair{"bos_token", &names.bos},  std::pair{"eos_token", &names.eos},
                    std::pair{"unk_token", &names.unk},  std::pair{"pad_token", &names.pad},
                    std::pair{"sep_token", &names.sep},  std::pair{"cls_token", &names.cls},
                    std::pair{"mask_token", &names.mask}};
}

huggingface::Json json_of(const TokenizerUse& use) {
  huggingface::Json json = huggingface::Json::object();
  for (const auto& [key, name] : named_texts(use.names)) {
    if (!name->empty()) {
      json[key] = *name;
    }
  }
  if (use.rows > 0) {
    json[kRowsMember] = use.rows;
  }
  if (use.has_merge_steps) {
    json[kStepsMember] = true;
  }
  return json;
}

void add_use(huggingface::Json& document, const TokenizerUse& use) { document[kUseMember] = json_of(use); }

void read_names(const JsonValue& json, SpecialNames& names) {
  for (const auto& [key, name] : named_texts(names)) {
    if (const std::optional<JsonValue> token = json.find(key)) {
      *name = token->json().is_object() ? token->at("content").text() : token->text();
    }
  }
}

TokenizerUse use_in(const JsonValue& json) {
  constexpr int64_t kMostRows = int64_t{1} << 30U;
  TokenizerUse use;
  if (const std::optional<JsonValue> own = json.find(kUseMember)) {
    read_names(*own, use.names);
    if (const std::optional<JsonValue> rows = own->find(kRowsMember)) {
      use.rows = rows->integer(1, kMostRows);
    }
    if (const std::optional<JsonValue> steps = own->find(kStepsMember)) {
      use.has_merge_steps = steps->boolean();
    }
  }
  return use;
}

class PipelineTokenizer final : public HuggingFaceTokenizer {
 public:
  // `added`: what the content does not say yet.
  PipelineTokenizer(std::unique_ptr<Pipeline> pipeline, std::string content, TokenizerUse added,
                    const TokenizerUse& kept, std::vector<std::string> pieces)
      : HuggingFaceTokenizer(pipeline->model().kind(), special_tokens_of(*pipeline, kept.names), std::move(pieces)),
        pipeline_(std::move(pipeline)),
        content_(std::move(content)),
        added_(std::move(added)),
        frame_(pipeline_->frame(1)),
        pair_frame_(pipeline_->frame(2)),
        mask_(first_known({token_named(*pipeline_, kept.names.mask), usual_token(*pipeline_, {"[MASK]", "<mask>"})})),
        first_step_(kept.has_merge_steps ? std::optional(static_cast<int32_t>(kept.rows)) : std::nullopt) {}

  Encoding encode_text(std::string_view text, const EncodeOptions& options) const override {
    check(text);
    return without_steps(pipeline_->encode({text}, options));
  }
  Encoding encode_pair(std::string_view first, std::string_view second, const EncodeOptions& options) const override {
    check(first);
    check(second);
    return without_steps(pipeline_->encode({first, second}, options));
  }

  std::span<const FrameSlot> frame(int texts) const override { return texts == 1 ? frame_ : pair_frame_; }
  TokenId mask() const override { return mask_; }
  std::vector<TokenId> encode_masked(std::string_view text, TokenId mask) const override {
    check(text);
    return without_steps(pipeline_->encode_ids(text, {.matched = mask}));
  }
  const std::vector<std::string>& notes() const override { return pipeline_->notes(); }

  std::string token_text(TokenId token) const override {
    const std::string* const text = pipeline_->text(token.value);
    return text == nullptr ? std::string() : *text;
  }
  std::optional<TokenId> token_of(std::string_view text) const override {
    const TokenId token = token_named(*pipeline_, std::string(text));
    return token == kNoToken || is_step(token) ? std::nullopt : std::optional(token);
  }
  bool is_special(TokenId token) const override { return pipeline_->is_special(token.value); }
  bool has_merge_steps() const override { return first_step_.has_value(); }

  // FormatError for a mark that is only a step.
  void require_marks_that_are_tokens(std::string_view where) const {
    const SpecialTokens& own = special();
    std::vector<TokenId> marks{own.pad, own.unk, own.bos, own.eos, own.sep, mask_};
    for (const std::vector<FrameSlot>* const frame : {&frame_, &pair_frame_}) {
      std::ranges::transform(*frame, std::back_inserter(marks), &FrameSlot::token);
    }
    for (const TokenId mark : marks) {
      require<FormatError>(!is_step(mark), where, "token {} stands for a mark, but the model's table has {} rows",
                           mark.value, first_step_.value_or(0));
    }
  }

  std::optional<std::string> bytes_of(TokenId token) const override {
    if (pipeline_->decoder() == nullptr || !pipeline_->decoder()->is_local()) {
      return std::nullopt;
    }
    const std::string* const text = pipeline_->text(token.value);
    if (text == nullptr || pipeline_->is_special(token.value)) {
      return std::string();
    }
    std::string bytes = *text;
    pipeline_->decoder()->apply_alone(bytes);
    return bytes;
  }
  bool drops_first_space() const override {
    return pipeline_->decoder() != nullptr && pipeline_->decoder()->drops_first_space();
  }

  bool takes_lines() const override { return true; }
  std::vector<TextSpan> origins(std::string_view text) const override {
    constexpr EncodeOptions kOptions{.special = huggingface::SpecialText::literal,
                                     .frame = huggingface::Frame::bare,
                                     .offsets = huggingface::Offsets::bytes};
    std::vector<TextSpan> spans;
    for (const huggingface::ByteRange& range : encode_text(text, kOptions).offsets) {
      spans.push_back({range.begin, range.end});
    }
    return spans;
  }

  // The file's normalizer is a part of encoding: applied twice, some would change the text twice.
  std::string normalize(std::string_view text) const override {
    check(text);
    return std::string(text);
  }
  std::string normalization() const override { return "tokenizer.json's own"; }
  std::string serialize() const override {
    if (added_ == TokenizerUse{}) {
      return content_;
    }
    JsonTree<huggingface::Json> document = huggingface::parse_json(content_, "tokenizer");
    add_use(document.root(), added_);
    return document.root().dump();
  }

 private:
  static void check(std::string_view text) {
    constexpr size_t kMaxBytes = (size_t{1} << 31U) - 1;
    require<FormatError>(text.size() <= kMaxBytes, "text", "{} bytes in one piece, at most {} can be encoded",
                         text.size(), kMaxBytes);
    if (!huggingface::is_ascii(text)) {
      const std::optional<size_t> invalid = find_invalid_utf8(text);
      require<FormatError>(!invalid, "text", "byte {} is not UTF-8", invalid.value_or(0));
    }
  }

  bool is_step(TokenId token) const { return first_step_ && token.value >= *first_step_; }
  std::vector<TokenId> without_steps(std::vector<TokenId> tokens) const {
    if (first_step_) {
      std::ranges::replace_if(
          tokens, [this](TokenId token) { return is_step(token); }, special().unk);
    }
    return tokens;
  }
  Encoding without_steps(Encoding encoding) const {
    for (size_t i = 0; first_step_ && i < encoding.ids.size(); ++i) {
      if (is_step(encoding.ids[i])) {
        encoding.ids[i] = special().unk;
        if (!encoding.texts.empty()) {
          encoding.texts[i] = token_text(special().unk);
        }
      }
    }
    return encoding;
  }

  std::vector<TokenId> encode_normalized(std::string_view text) const override {
    return without_steps(pipeline_->encode_ids(text, {}));
  }
  std::string decode_known(std::span<const TokenId> tokens) const override { return pipeline_->decode(tokens); }

  std::unique_ptr<Pipeline> pipeline_;
  std::string content_;
  TokenizerUse added_;
  std::vector<FrameSlot> frame_, pair_frame_;
  TokenId mask_;
  std::optional<int32_t> first_step_;
};

}  // namespace

void read_special_names(std::string_view json, std::string_view where, SpecialNames& names) {
  const JsonTree<huggingface::Json> parsed = huggingface::parse_json(json, where);
  read_names(JsonValue(parsed.root(), std::string(where)), names);
}

// heed's own vocabularies are objects too, but have no member "model" that is an object.
bool is_huggingface_tokenizer(std::string_view content) {
  constexpr std::string_view kSpace = " \t\r\n", kKey = "\"model\"";
  const size_t first = content.find_first_not_of(kSpace);
  if (first == std::string_view::npos || content[first] != '{') {
    return false;
  }
  for (size_t at = content.find(kKey); at != std::string_view::npos; at = content.find(kKey, at + 1)) {
    const size_t colon = content.find_first_not_of(kSpace, at + kKey.size());
    if (colon == std::string_view::npos || content[colon] != ':') {
      continue;
    }
    const size_t value = content.find_first_not_of(kSpace, colon + 1);
    if (value != std::string_view::npos && content[value] == '{') {
      return true;
    }
  }
  return false;
}

std::unique_ptr<HuggingFaceTokenizer> parse_huggingface_tokenizer(std::string content, std::string_view where,
                                                                  const TokenizerUse& use) {
  JsonTree<huggingface::Json> tree = huggingface::parse_json(content, where);
  huggingface::Json& parsed = tree.root();
  require<FormatError>(parsed.is_object(), where, "expected an object, found {}", parsed.type_name());
  if (use != TokenizerUse{}) {
    add_use(parsed, use);
  }
  const JsonValue json(parsed, std::string(where));
  const TokenizerUse kept = use_in(json);
  auto pipeline = std::make_unique<Pipeline>(json);
  std::vector<std::string> pieces = shown_pieces_of(*pipeline, has_byte_level_decoder(json));
  require<FormatError>(!kept.has_merge_steps || kept.rows > 0, where,
                       "has steps of merging, but does not say how many rows the model's table has");
  if (kept.has_merge_steps) {
    pieces.resize(std::min(pieces.size(), static_cast<size_t>(kept.rows)));
  }
  const auto tokens = std::ssize(pieces);
  require<FormatError>(kept.rows == 0 || tokens <= kept.rows, where, "has {} tokens, but the model's table has {} rows",
                       tokens, kept.rows);
  for (int64_t id = tokens; id < kept.rows; ++id) {
    pieces.push_back(fmt::format("<no token {}>", id));
  }
  auto tokenizer =
      std::make_unique<PipelineTokenizer>(std::move(pipeline), std::move(content), use, kept, std::move(pieces));
  tokenizer->require_marks_that_are_tokens(where);
  return tokenizer;
}

}  // namespace heed
