#include "text/huggingface/pipeline.h"

#include <algorithm>

#include "base/errors.h"
#include "text/huggingface/characters/characters.h"
#include "text/unicode/unicode.h"

namespace heed::huggingface {
namespace {

constexpr size_t kMostHoles = 1U << 16U;  // ids without a token, beside one for each token

template <class Step>
std::unique_ptr<Step> read_step(const JsonValue& json, const char* key,
                                std::unique_ptr<Step> (*read)(const JsonValue&)) {
  const std::optional<JsonValue> value = json.find(key);
  return value ? read(*value) : nullptr;
}

// The number of the character that each byte belongs to, and one behind the last: the library's rules for offsets that
// lie at the end.
void count_in_characters(std::string_view text, std::vector<ByteRange>& offsets) {
  if (is_ascii(text)) {
    return;
  }
  std::vector<uint32_t> numbers;
  numbers.reserve(text.size());
  uint32_t number = 0;
  for (size_t at = 0; at < text.size(); ++number) {
    const uint32_t size = character_size(text[at]);
    numbers.insert(numbers.end(), size, number);
    at += size;
  }
  for (auto& [begin, end] : offsets) {
    if (begin < numbers.size()) {
      const uint32_t first = numbers[begin];
      end = end < numbers.size()                  ? numbers[end]
            : end > 0 && end - 1 < numbers.size() ? numbers[end - 1] + 1
                                                  : first + 2;
      begin = first;
    }
  }
}

}  // namespace

Pipeline::Pipeline(const JsonValue& json) {
  const std::string version = json.text_or("version", "1.0");
  require<FormatError>(version == "1.0", json.where(), "version '{}', expected '1.0'", version);
  for (const char* const key : {"truncation", "padding"}) {
    if (json.find(key)) {
      notes_.push_back(fmt::format("the file's {} is not applied", key));
    }
  }
  model_ = read_model(json.at("model"));
  normalizer_ = read_step(json, "normalizer", read_normalizer);
  if (const std::optional<JsonValue> added = json.find("added_tokens")) {
    added_ = AddedTokens(*added, *model_, normalizer_.get(), notes_);
  }
  pre_tokenizer_ = read_step(json, "pre_tokenizer", read_pre_tokenizer);
  post_processor_ = read_step(json, "post_processor", read_post_processor);
  decoder_ = read_step(json, "decoder", read_decoder);
  read_texts(json);
  if (pre_tokenizer_ && model_->can_take_bytes() && pre_tokenizer_->leave_bytes()) {
    model_->take_bytes();
  }
  model_->set_special(special_);
}

void Pipeline::read_texts(const JsonValue& json) {
  int32_t size = 0;
  for (const auto& [text, id] : model_->vocabulary()) {
    size = std::max(size, id + 1);
  }
  for (const auto& [id, token] : added_.tokens()) {
    size = std::max(size, id + 1);
  }
  for (const size_t texts : {size_t{1}, size_t{2}}) {
    for (const FrameSlot& slot : frame(texts)) {
      size = std::max(size, slot.token.value + 1);
    }
  }
  const size_t known = model_->vocabulary().size() + added_.tokens().size();
  require<FormatError>(static_cast<size_t>(size) <= 2 * known + kMostHoles, json.where(),
                       "ids up to {}, but only {} tokens", size - 1, known);
  texts_.resize(static_cast<size_t>(size));
  known_.resize(texts_.size());
  special_.resize(texts_.size());
  const auto set = [&](int32_t id, const std::string& text) {
    texts_[static_cast<size_t>(id)] = text;
    known_[static_cast<size_t>(id)] = true;
  };
  for (const auto& [text, id] : model_->vocabulary()) {
    set(id, text);
  }
  for (const auto& [id, token] : added_.tokens()) {
    set(id, token.normalized ? token.found : token.text);
  }
  for (size_t id = 0; id < texts_.size(); ++id) {
    special_[id] = known_[id] && added_.is_special(texts_[id]);
  }
}

const std::string* Pipeline::text(int32_t id) const {
  const auto index = static_cast<size_t>(id);
  return index < texts_.size() && known_[index] ? &texts_[index] : nullptr;
}

bool Pipeline::is_special(int32_t id) const {
  return static_cast<size_t>(id) < special_.size() && special_[static_cast<size_t>(id)];
}

Pipeline::Lease::Lease(const Pipeline& pipeline) : pipeline_(pipeline) {
  {
    const std::scoped_lock lock(pipeline.mutex_);
    if (!pipeline.workspaces_.empty()) {
      workspace_ = std::move(pipeline.workspaces_.back());
      pipeline.workspaces_.pop_back();
      return;
    }
  }
  workspace_ = std::make_unique<Workspace>();
  workspace_->state = pipeline.model_->make_state();
}

Pipeline::Lease::~Lease() {
  const std::scoped_lock lock(pipeline_.mutex_);
  pipeline_.workspaces_.push_back(std::move(workspace_));
}

// Fills work.pieces.
void Pipeline::cut(std::string_view text, const SpecialRule& special, Tracking tracking, Workspace& work) const {
  Pieces& pieces = work.pieces;
  pieces.list.clear();
  pieces.as_bytes = false;
  work.parts.clear();
  added_.cut_raw(text, special, work.parts);
  const bool changes = normalizer_ != nullptr && work.parts.size() != 1;
  pieces.text = changes ? AlignedText({}, 0, tracking) : AlignedText(text, 0, tracking);
  for (const AddedMatch& part : work.parts) {
    cut_part(text, part, special, tracking, work);
  }
  if (pre_tokenizer_) {
    pre_tokenizer_->apply(pieces);
  }
}

// Normalizes what lies between added tokens, and cuts it at those of normalized text. The text of several parts is put
// together behind each other.
void Pipeline::cut_part(std::string_view text, const AddedMatch& part, const SpecialRule& special, Tracking tracking,
                        Workspace& work) const {
  Pieces& pieces = work.pieces;
  const bool alone = work.parts.size() == 1;
  uint32_t base = part.begin;
  AlignedText normalized(text.substr(part.begin, part.end - part.begin), part.begin, tracking);
  if (part.token == TokenTable::kNone && normalizer_) {
    normalizer_->apply(normalized);
  }
  const auto size = static_cast<uint32_t>(normalized.size());
  if (normalizer_ && !alone) {
    base = static_cast<uint32_t>(pieces.text.size());
    pieces.text.append(normalized, 0, size);
  }
  if (normalizer_ && alone) {
    pieces.text = std::move(normalized);
  }
  const auto add = [&](uint32_t begin, uint32_t end, int32_t token) {
    if (begin < end) {
      const uint32_t origin = tracking == Tracking::on ? pieces.text.origin(begin).begin : part.begin;
      pieces.list.push_back({begin, end, origin, token});
    }
  };
  if (part.token != TokenTable::kNone || !added_.any_normalized()) {
    add(base, base + size, part.token);
    return;
  }
  work.inner_parts.clear();
  added_.cut_normalized(pieces.text.view().substr(base, size), special, work.inner_parts);
  for (const AddedMatch& inner : work.inner_parts) {
    add(base + inner.begin, base + inner.end, inner.token);
  }
}

std::vector<TokenId> Pipeline::encode_ids(std::string_view text, const SpecialRule& special) const {
  const Lease lease(*this);
  Workspace& work = *lease;
  const bool origins = pre_tokenizer_ && pre_tokenizer_->needs_origins();
  cut(text, special, origins ? Tracking::on : Tracking::off, work);
  std::vector<TokenId> ids;
  ids.reserve(work.pieces.list.size() + work.pieces.list.size() / 2);
  for (const Piece& piece : work.pieces.list) {
    if (piece.token != Piece::kNoToken) {
      ids.emplace_back(piece.token);
      continue;
    }
    work.tokens.clear();
    model_->tokenize(work.pieces.view(piece), special.text, *work.state, work.tokens);
    for (const ModelToken& token : work.tokens) {
      ids.emplace_back(token.id);
    }
  }
  return ids;
}

// How the library writes a token of a piece: the unigram model leaves unknown text as it is.
std::string Pipeline::spelled(const ModelToken& token, std::string_view piece) const {
  if (model_->kind() == TokenizerKind::unigram && token.id == model_->unknown()) {
    return std::string(piece.substr(token.begin, token.end - token.begin));
  }
  const std::string* const text = this->text(token.id);
  return text == nullptr ? std::string() : *text;
}

void Pipeline::append_piece(const Piece& piece, SpecialText special, bool texts, Workspace& work,
                            EncodedSlot& slot) const {
  const AlignedText& text = work.pieces.text;
  const std::string_view view = work.pieces.view(piece);
  const bool tracking = text.tracking() == Tracking::on;
  if (piece.token != Piece::kNoToken) {
    slot.ids.emplace_back(piece.token);
    if (tracking) {
      slot.offsets.push_back(text.origin(piece.begin, piece.end));
    }
    if (texts) {
      slot.texts.emplace_back(view);
    }
    return;
  }
  work.tokens.clear();
  model_->tokenize(view, special, *work.state, work.tokens);
  for (const ModelToken& token : work.tokens) {
    slot.ids.emplace_back(token.id);
    if (tracking) {
      const bool inside = token.begin < token.end && token.end <= view.size();
      slot.offsets.push_back(inside ? text.origin(piece.begin + token.begin, piece.begin + token.end)
                                    : ByteRange{token.begin, token.end});
    }
    if (texts) {
      slot.texts.push_back(spelled(token, view));
    }
  }
}

EncodedSlot Pipeline::encode_slot(std::string_view text, const EncodeOptions& options, bool texts) const {
  const Lease lease(*this);
  Workspace& work = *lease;
  const bool origins = options.offsets != Offsets::none || (pre_tokenizer_ && pre_tokenizer_->needs_origins());
  cut(text, {.text = options.special}, origins ? Tracking::on : Tracking::off, work);
  EncodedSlot slot;
  slot.ids.reserve(work.pieces.list.size() * 2);
  for (const Piece& piece : work.pieces.list) {
    append_piece(piece, options.special, texts, work, slot);
  }
  if (options.offsets == Offsets::none) {
    slot.offsets.clear();
  } else if (options.offsets == Offsets::characters) {
    count_in_characters(text, slot.offsets);
  }
  return slot;
}

Encoding Pipeline::encode(std::vector<std::string_view> texts, const EncodeOptions& options) const {
  const bool trims = options.offsets != Offsets::none && post_processor_ && post_processor_->trims_offsets();
  std::vector<EncodedSlot> slots;
  for (size_t i = 0; i < texts.size(); ++i) {
    slots.push_back(encode_slot(texts[i], options, options.texts || trims));
    slots.back().text = slots.back().type = static_cast<int32_t>(i);
  }
  if (post_processor_) {
    post_processor_->apply(slots, options.frame);
  }
  Encoding encoding;
  for (EncodedSlot& slot : slots) {
    encoding.types.insert(encoding.types.end(), slot.ids.size(), slot.type);
    encoding.ids.insert(encoding.ids.end(), slot.ids.begin(), slot.ids.end());
    if (options.offsets != Offsets::none) {
      encoding.offsets.insert(encoding.offsets.end(), slot.offsets.begin(), slot.offsets.end());
    }
    if (options.texts) {
      std::ranges::move(slot.texts, std::back_inserter(encoding.texts));
    }
  }
  return encoding;
}

std::vector<FrameSlot> Pipeline::frame(size_t texts) const {
  std::vector<EncodedSlot> slots(texts);
  for (size_t i = 0; i < texts; ++i) {
    slots[i].text = slots[i].type = static_cast<int32_t>(i);
  }
  if (post_processor_) {
    post_processor_->apply(slots, Frame::framed);
  }
  std::vector<FrameSlot> frame;
  for (const EncodedSlot& slot : slots) {
    if (slot.text != FrameSlot::kToken) {
      frame.push_back({slot.text, TokenId(-1), slot.type});
    }
    for (const TokenId id : slot.ids) {
      frame.push_back({FrameSlot::kToken, id, slot.type});
    }
  }
  return frame;
}

std::string Pipeline::decode(std::span<const TokenId> tokens) const {
  std::vector<std::string> texts;
  texts.reserve(tokens.size());
  for (const TokenId token : tokens) {
    const std::string* const text = this->text(token.value);
    if (text != nullptr && !is_special(token.value)) {
      texts.push_back(*text);
    }
  }
  if (decoder_) {
    decoder_->apply(texts);
  }
  std::string result;
  for (size_t i = 0; i < texts.size(); ++i) {
    if (i > 0 && !decoder_) {
      result += ' ';
    }
    result += texts[i];
  }
  return result;
}

}  // namespace heed::huggingface
