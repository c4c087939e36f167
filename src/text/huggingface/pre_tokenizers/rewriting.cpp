// The pre-tokenizers that change the text: byte-level and Metaspace.
#include <optional>

#include "base/errors.h"
#include "text/huggingface/normalizers/rewriting.h"
#include "text/huggingface/pre_tokenizers/pre_tokenizer.h"
#include "text/huggingface/pre_tokenizers/splitting.h"

namespace heed::huggingface {
namespace {

// Replaces the text of each piece that is not a token by what `change` makes of it.
template <class Change>
void rewrite_pieces(Pieces& pieces, Change&& change) {
  AlignedText result({}, 0, pieces.text.tracking());
  for (Piece& piece : pieces.list) {
    const auto begin = static_cast<uint32_t>(result.size());
    if (piece.token == Piece::kNoToken) {
      AlignedText part = pieces.text.part(piece.begin, piece.end);
      change(part, piece);
      result.append(part, 0, part.size());
    } else {
      result.append(pieces.text, piece.begin, piece.end);
    }
    piece.begin = begin;
    piece.end = static_cast<uint32_t>(result.size());
  }
  pieces.text = std::move(result);
}

class ByteLevelPreTokenizer final : public PreTokenizer {
 public:
  explicit ByteLevelPreTokenizer(const JsonValue& json) : prefix_(json.at("add_prefix_space").boolean()) {
    if (json.boolean_or("use_regex", true)) {
      words_ = make_regex_pattern(kByteLevelExpression, json.where());
    }
  }

  void apply(Pieces& pieces) const override {
    if (prefix_) {
      add_prefixes(pieces);
    }
    if (words_) {
      split_by_pattern(pieces, *words_, SplitBehavior::isolated, MatchRole::delimiter);
    }
    if (leaves_bytes_) {
      pieces.as_bytes = true;
    } else {
      rewrite_pieces(pieces, [](AlignedText& text, const Piece&) { map_bytes(text); });
    }
  }

  bool leave_bytes() override { return leaves_bytes_ = true; }

 private:
  static void add_prefixes(Pieces& pieces) {
    bool all = true;
    for (const Piece& piece : pieces.list) {
      all = all && (piece.token != Piece::kNoToken || pieces.view(piece).starts_with(' '));
    }
    if (!all) {
      rewrite_pieces(pieces, [](AlignedText& text, const Piece&) {
        if (!text.view().starts_with(' ')) {
          prepend_text(text, " ");
        }
      });
    }
  }

  bool prefix_;
  bool leaves_bytes_ = false;
  std::unique_ptr<Pattern> words_;
};

enum class PrependScheme : uint8_t { always, first, never };

PrependScheme read_scheme(const JsonValue& json) {
  PrependScheme scheme = PrependScheme::always;
  if (const std::optional<JsonValue> value = json.find("prepend_scheme")) {
    const std::string name = value->text();
    if (name != "always" && name != "first" && name != "never") {
      value->refuse(fmt::format("the scheme '{}' is unknown", name));
    }
    scheme = name == "always" ? PrependScheme::always : name == "first" ? PrependScheme::first : PrependScheme::never;
  }
  // Files of older versions have this key alone; in others the two must agree.
  if (!json.boolean_or("add_prefix_space", true)) {
    require<FormatError>(!json.find("prepend_scheme") || scheme == PrependScheme::never, json.where(),
                         "add_prefix_space is false, but prepend_scheme is not 'never'");
    scheme = PrependScheme::never;
  }
  return scheme;
}

class MetaspacePreTokenizer final : public PreTokenizer {
 public:
  explicit MetaspacePreTokenizer(const JsonValue& json)
      : mark_(json.at("replacement").character()),
        mark_text_(to_text(mark_)),
        scheme_(read_scheme(json)),
        splits_(json.boolean_or("split", true)) {}

  void apply(Pieces& pieces) const override {
    rewrite_pieces(pieces, [this](AlignedText& text, const Piece& piece) { mark_spaces(text, piece); });
    if (splits_) {
      split_at_marks(pieces);
    }
  }

  bool needs_origins() const override { return scheme_ == PrependScheme::first; }

 private:
  void mark_spaces(AlignedText& text, const Piece& piece) const {
    const std::string_view old = text.view();
    const bool marked = !old.empty() && (old.front() == ' ' || old.starts_with(mark_text_));
    const bool prepends = !marked && !old.empty() &&
                          (scheme_ == PrependScheme::always || (scheme_ == PrependScheme::first && piece.origin == 0));
    TextRewriter rewriter(text);
    if (prepends) {
      rewriter.insert_text_at(mark_text_, text.tracking() == Tracking::on ? text.origin(0) : ByteRange{});
    }
    for (size_t space = old.find(' '); space != std::string_view::npos; space = old.find(' ', space + 1)) {
      rewriter.keep(space);
      rewriter.skip(1);
      rewriter.insert_text(mark_text_);
    }
    rewriter.keep(old.size());
    rewriter.finish();
  }

  // Each mark begins a piece.
  void split_at_marks(Pieces& pieces) const {
    PieceCutter cutter(pieces);
    for (const Piece& piece : pieces.list) {
      if (piece.token != Piece::kNoToken) {
        cutter.keep(piece);
        continue;
      }
      const std::string_view text = pieces.view(piece);
      size_t begin = 0;
      for (size_t at = text.find(mark_text_, 0); at != std::string_view::npos;
           at = text.find(mark_text_, at + mark_text_.size())) {
        cutter.cut(piece.begin + static_cast<uint32_t>(begin), piece.begin + static_cast<uint32_t>(at));
        begin = at;
      }
      cutter.cut(piece.begin + static_cast<uint32_t>(begin), piece.end);
    }
  }

  char32_t mark_;
  std::string mark_text_;
  PrependScheme scheme_;
  bool splits_;
};

}  // namespace

PreTokenizerPtr make_byte_level(const JsonValue& json) { return std::make_unique<ByteLevelPreTokenizer>(json); }

PreTokenizerPtr make_metaspace(const JsonValue& json) { return std::make_unique<MetaspacePreTokenizer>(json); }

}  // namespace heed::huggingface
