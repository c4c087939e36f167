#include "text/sentencepiece/sentencepiece_tokenizer.h"

#include <sentencepiece_processor.h>

#include <algorithm>

#include "base/errors.h"
#include "text/sentencepiece/sentencepiece_model.h"
#include "text/unicode/unicode.h"
#include "text/vocabulary/vocabulary.h"

namespace heed {
namespace {

using PieceType = SentencePieceModel::PieceType;
using Processor = sentencepiece::SentencePieceProcessor;

constexpr std::string_view kSpace = "\u2581";
constexpr std::string_view kNoteBegin = "heed 1; ";

std::string note_of(std::string_view model, Normalization normalization) {
  return fmt::format("{}{}; {}", kNoteBegin, name_of(normalization), checksum_of(model));
}

std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
  std::string result;
  size_t begin = 0;
  for (size_t at = text.find(from); at != std::string_view::npos; at = text.find(from, begin)) {
    result.append(text.substr(begin, at - begin)).append(to);
    begin = at + from.size();
  }
  return result.append(text.substr(begin));
}

// normalize_for_sentencepiece(), with where its parts came from.
TracedText traced_for_sentencepiece(std::string_view text, Normalization normalization) {
  TracedText traced = normalize_traced(text, normalization);
  TextOrigins::Change change(traced.origins);
  size_t begin = 0;
  for (size_t at = traced.text.find(kSpace); at != std::string::npos; at = traced.text.find(kSpace, begin)) {
    change.keep(at - begin);
    change.replace(kSpace.size(), 1);
    begin = at + kSpace.size();
  }
  change.keep(traced.text.size() - begin);
  change.finish();
  traced.text = replace_all(traced.text, kSpace, " ");
  return traced;
}

// The normalization of a model trained by heed; nullopt for one from elsewhere.
std::optional<Normalization> read_note(const SentencePieceModel& model, std::string_view bytes,
                                       std::string_view where) {
  if (!model.note) {
    const bool ours = std::ranges::find(model.languages, kOwnLanguage) != model.languages.end();
    require<FormatError>(!ours, where, "heed's note at the end is missing: the file is cut off");
    return std::nullopt;
  }
  const std::string_view note = *model.note;
  const size_t end = note.rfind("; ");
  require<FormatError>(note.starts_with(kNoteBegin) && end >= kNoteBegin.size(), where,
                       "the note '{}' is not one of heed's, version 1", show_piece(replace_invalid_utf8(*model.note)));
  Normalization normalization;
  try {
    normalization = parse_normalization(note.substr(kNoteBegin.size(), end - kNoteBegin.size()));
  } catch (const ConfigError& error) {
    fail<FormatError>(where, "{}", error.what());
  }
  const std::string_view before = bytes.substr(0, model.note_begin);
  require<FormatError>(bytes.substr(model.note_begin) == note_field(note_of(before, normalization)), where,
                       "its content does not match its checksum: the file was edited");
  return normalization;
}

TokenizerKind kind_of(const SentencePieceModel& model, std::string_view where) {
  require<FormatError>(model.type == SentencePieceModel::Type::bpe || model.type == SentencePieceModel::Type::unigram,
                       where, "a SentencePiece model of type {}, expected bpe or unigram",
                       model.type == SentencePieceModel::Type::word ? "word" : "char");
  return model.type == SentencePieceModel::Type::bpe ? TokenizerKind::bpe : TokenizerKind::unigram;
}

std::unique_ptr<Processor> load_processor(std::string_view bytes, std::string_view where) {
  auto processor = std::make_unique<Processor>();
  try {
    const auto status = processor->LoadFromSerializedProto(bytes);
    require<FormatError>(status.ok(), where, "SentencePiece refuses this model: {}", status.error_message());
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    fail<FormatError>(where, "SentencePiece refuses this model: {}", error.what());
  }
  return processor;
}

SpecialTokens special_of(const Processor& processor) {
  SpecialTokens special{.pad = TokenId(processor.pad_id()),
                        .unk = TokenId(processor.unk_id()),
                        .bos = TokenId(processor.bos_id()),
                        .eos = TokenId(processor.eos_id()),
                        .sep = TokenId(processor.PieceToId("<sep>"))};
  if (!processor.IsControl(special.sep.value)) {
    special.sep = kNoToken;
  }
  if (special.pad == kNoToken) {
    special.pad = special.eos == kNoToken ? special.unk : special.eos;
  }
  return special;
}

std::vector<std::string> shown_pieces(const SentencePieceModel& model) {
  std::vector<std::string> shown;
  shown.reserve(model.pieces.size());
  for (const auto& piece : model.pieces) {
    shown.push_back(show_piece(piece.text));
  }
  return shown;
}

class SentencePieceTokenizer final : public Tokenizer {
 public:
  // `own` is the normalization of a model trained by heed.
  SentencePieceTokenizer(TokenizerKind kind, std::string bytes, const SentencePieceModel& model,
                         std::optional<Normalization> own, std::unique_ptr<Processor> processor)
      : Tokenizer(kind, own ? SpecialTokens{} : special_of(*processor), shown_pieces(model)),
        bytes_(std::move(bytes)),
        own_(own),
        normalizer_(model.normalizer),
        processor_(std::move(processor)) {
    for (const SentencePieceModel::Piece& piece : model.pieces) {
      add_text(piece);
    }
  }

  std::string normalize(std::string_view text) const override {
    return own_ ? normalize_for_sentencepiece(text, *own_) : heed::normalize(text, {.form = NormalForm::none});
  }

  // Where bytes spell a character, SentencePiece gives all of it to the last one.
  std::vector<TextSpan> origins(std::string_view text) const override {
    const TracedText traced = own_ ? traced_for_sentencepiece(text, *own_) : normalize_traced(text, {NormalForm::none});
    const sentencepiece::ImmutableSentencePieceText found = processor_->EncodeAsImmutableProto(traced.text);
    std::vector<TextSpan> spans(found.pieces_size());
    size_t end = 0;
    for (size_t i = found.pieces_size(); i > 0; --i) {
      const auto piece = found.pieces(static_cast<int>(i - 1));
      const bool is_part = piece.begin() == piece.end() && processor_->IsByte(static_cast<int>(piece.id()));
      end = is_part ? std::max<size_t>(end, piece.end()) : piece.end();
      spans[i - 1] = traced.origins.of({piece.begin(), end});
    }
    return spans;
  }

  std::string normalization() const override {
    return own_ ? std::string(name_of(*own_))
                : "SentencePiece's " + (normalizer_.empty() ? std::string("own") : normalizer_);
  }

  std::string serialize() const override { return bytes_; }

  // SentencePiece's own decoding of models from elsewhere drops spaces by other rules.
  std::optional<std::string> bytes_of(TokenId token) const override { return own_ ? token_bytes(token) : std::nullopt; }
  std::optional<std::string> token_bytes(TokenId token) const override {
    return texts_[static_cast<size_t>(token.value)];
  }
  bool drops_first_space() const override { return true; }

 private:
  void add_text(const SentencePieceModel::Piece& piece) {
    switch (piece.type) {
      case PieceType::control:
        texts_.emplace_back();
        break;
      case PieceType::byte:  // <0x41>
        texts_.emplace_back(1, static_cast<char>(std::stoi(piece.text.substr(3, 2), nullptr, 16)));
        break;
      default:
        texts_.push_back(replace_all(piece.text, kSpace, " "));
        break;
    }
  }

  std::vector<TokenId> encode_normalized(std::string_view text) const override {
    std::vector<int> ids;
    const auto status = processor_->Encode(text, &ids);
    ensure(status.ok(), "sentencepiece", "encode: {}", status.error_message());
    std::vector<TokenId> tokens;
    tokens.reserve(ids.size());
    for (const int id : ids) {
      tokens.emplace_back(id);
    }
    return tokens;
  }

  std::string decode_known(std::span<const TokenId> tokens) const override {
    return own_ ? decode_own(tokens) : decode_foreign(tokens);
  }

  // SentencePiece's own decoding drops more leading spaces than encoding has added.
  std::string decode_own(std::span<const TokenId> tokens) const {
    std::string text;
    for (const TokenId token : tokens) {
      text += texts_[static_cast<size_t>(token.value)];
    }
    if (text.starts_with(' ')) {
      text.erase(0, 1);
    }
    return text;
  }

  std::string decode_foreign(std::span<const TokenId> tokens) const {
    std::vector<int> ids;
    ids.reserve(tokens.size());
    for (const TokenId token : tokens) {
      if (!processor_->IsControl(token.value)) {
        ids.push_back(token.value);
      }
    }
    std::string text;
    const auto status = processor_->Decode(ids, &text);
    ensure(status.ok(), "sentencepiece", "decode: {}", status.error_message());
    return text;
  }

  std::string bytes_;
  std::optional<Normalization> own_;
  std::string normalizer_;
  std::vector<std::string> texts_;
  std::unique_ptr<Processor> processor_;
};

void check_own_ids(const Processor& processor, std::string_view where) {
  const SpecialTokens fixed;
  require<FormatError>(processor.pad_id() == fixed.pad.value && processor.unk_id() == fixed.unk.value &&
                           processor.bos_id() == fixed.bos.value && processor.eos_id() == fixed.eos.value &&
                           processor.GetPieceSize() > fixed.sep.value && processor.IsControl(fixed.sep.value),
                       where, "the special tokens are not where heed puts them");
}

}  // namespace

std::unique_ptr<Tokenizer> parse_sentencepiece_tokenizer(std::string content, std::string_view where) {
  const SentencePieceModel model = read_sentencepiece_model(content, where);
  const TokenizerKind kind = kind_of(model, where);
  const std::optional<Normalization> own = read_note(model, content, where);
  std::unique_ptr<Processor> processor = load_processor(content, where);
  if (own) {
    check_own_ids(*processor, where);
  }
  return std::make_unique<SentencePieceTokenizer>(kind, std::move(content), model, own, std::move(processor));
}

std::string add_note(std::string model, Normalization normalization) {
  return model += note_field(note_of(model, normalization));
}

std::string normalize_for_sentencepiece(std::string_view text, Normalization normalization) {
  return replace_all(normalize(text, normalization), kSpace, " ");
}

}  // namespace heed
