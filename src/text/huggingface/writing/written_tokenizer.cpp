#include "text/huggingface/writing/written_tokenizer.h"

#include <algorithm>

#include "base/errors.h"
#include "text/huggingface/characters/byte_characters.h"
#include "text/huggingface/older/documents.h"
#include "text/huggingface/writing/word_pattern.h"
#include "text/lines/multiline.h"
#include "text/sentencepiece/sentencepiece_model.h"
#include "text/unicode/normalization.h"
#include "text/vocabulary/vocabulary.h"
#include "text/vocabulary/vocabulary_tokenizer.h"

namespace heed {
namespace {

using huggingface::Json;

constexpr const char* kLineBreak = "\n";

Json replacing(std::string_view from, std::string_view to) {
  return {{"type", "Replace"}, {"pattern", {{"String", std::string(from)}}}, {"content", std::string(to)}};
}

Json sequence(const char* key, const Json& parts) {
  return parts.empty() ? Json() : parts.size() == 1 ? parts.front() : Json{{"type", "Sequence"}, {key, parts}};
}

// Once more after the lower case, which may have composed forms of its own.
Json normalizers_of(Normalization normalization) {
  Json parts = Json::array();
  const auto add_form = [&] {
    if (normalization.form != NormalForm::none) {
      parts.push_back({{"type", normalization.form == NormalForm::nfc ? "NFC" : "NFKC"}});
    }
  };
  add_form();
  if (normalization.letter_case == LetterCase::lower) {
    parts.push_back({{"type", "Lowercase"}});
    add_form();
  }
  return parts;
}

// heed's own spelling of a special token; empty for one that the tokenizer lacks.
std::string spelling_of(const Tokenizer& tokenizer, TokenId token) {
  return token == kNoToken ? std::string() : std::string(tokenizer.piece(token));
}

SpecialNames names_of(const Tokenizer& tokenizer) {
  const SpecialTokens& special = tokenizer.special();
  return {.bos = spelling_of(tokenizer, special.bos),
          .eos = spelling_of(tokenizer, special.eos),
          .unk = spelling_of(tokenizer, special.unk),
          .pad = spelling_of(tokenizer, special.pad),
          .sep = spelling_of(tokenizer, special.sep)};
}

Json processor_of(const Tokenizer& tokenizer, const TextFrames& frames) {
  if (frames.single.empty()) {
    return nullptr;
  }
  Json tokens = Json::object();
  const auto written = [&](const std::vector<FrameSlot>& frame) {
    Json parts = Json::array();
    for (const FrameSlot& slot : frame) {
      if (slot.text != FrameSlot::kToken) {
        parts.push_back({{"Sequence", {{"id", slot.text == 0 ? "A" : "B"}, {"type_id", slot.type}}}});
        continue;
      }
      const std::string text = spelling_of(tokenizer, slot.token);
      parts.push_back({{"SpecialToken", {{"id", text}, {"type_id", slot.type}}}});
      tokens[text] = {{"id", text}, {"ids", {slot.token.value}}, {"tokens", {text}}};
    }
    return parts;
  };
  const Json single = written(frames.single), pair = written(frames.pair);
  return {{"type", "TemplateProcessing"}, {"single", single}, {"pair", pair}, {"special_tokens", tokens}};
}

// The line break is a token of its own wherever it stands.
void add_line_break(const Tokenizer& tokenizer, Json& document) {
  if (const std::optional<TokenId> token = line_break_token(tokenizer)) {
    document["added_tokens"].push_back(huggingface::added_token(kLineBreak, token->value, false));
  }
}

void require_only_line_breaks(const std::vector<std::string>& symbols, const std::string& where) {
  const auto other = std::ranges::find_if(symbols, [](const std::string& symbol) { return symbol != kLineBreak; });
  require<ConfigError>(other == symbols.end(), where,
                       "its tokenizer has the user symbol '{}', around which Hugging Face's would cut text differently",
                       other == symbols.end() ? "" : *other);
}

std::vector<std::string> user_symbols(const SentencePieceModel& model) {
  std::vector<std::string> symbols;
  for (const SentencePieceModel::Piece& piece : model.pieces) {
    if (piece.type == SentencePieceModel::PieceType::user_defined) {
      symbols.push_back(piece.text);
    }
  }
  return symbols;
}

// As SentencePiece cuts text. heed's own models normalize it first, and take U+2581 for a space.
Json of_sentencepiece(const Tokenizer& tokenizer, const std::string& where) {
  const std::string bytes = tokenizer.serialize();
  const SentencePieceModel model = read_sentencepiece_model(bytes, where);
  Json document = Json::parse(
      tokenizer_json_of(huggingface::SentencePieceFile{.model = bytes, .names = names_of(tokenizer)}, where));
  if (!model.note) {
    return document;
  }
  require_only_line_breaks(user_symbols(model), where);
  Json normalizers = normalizers_of(parse_normalization(tokenizer.normalization()));
  normalizers.push_back(replacing("\u2581", " "));
  // Metaspace would put no space before a space.
  normalizers.push_back({{"type", "Prepend"}, {"prepend", "\u2581"}});
  document["normalizer"] = sequence("normalizers", normalizers);
  document["pre_tokenizer"]["prepend_scheme"] = "never";
  // Removes the space before each line, which is not in the text.
  document["decoder"] = {{"type", "Sequence"},
                         {"decoders",
                          {replacing("\u2581", " "),
                           {{"type", "ByteFallback"}},
                           {{"type", "Fuse"}},
                           replacing("\n ", "\n"),
                           {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}}}}};
  return document;
}

Json special_tokens(const Vocabulary& vocabulary) {
  Json added = Json::array();
  for (const std::string& text : vocabulary.special.in_order()) {
    added.push_back(huggingface::added_token(text, std::ssize(added), true));
  }
  return added;
}

Json ids_of_pieces(const Vocabulary& vocabulary) {
  Json ids = Json::object();
  int64_t next = 0;
  for (const std::string& text : vocabulary.special.in_order()) {
    ids[text] = next++;
  }
  for (const std::vector<std::string>* list : {&vocabulary.user_symbols, &vocabulary.pieces}) {
    for (const std::string& text : *list) {
      ids[text] = next++;
    }
  }
  return ids;
}

Json splitting_words(const Vocabulary& vocabulary, const std::string& where) {
  const auto found = std::ranges::find_if(vocabulary.pieces, huggingface::needs_dictionary);
  require<ConfigError>(found == vocabulary.pieces.end(), where,
                       "its tokenizer knows words like '{}', whose ends only heed's own {} tokenizer finds",
                       found == vocabulary.pieces.end() ? "" : *found, name_of(vocabulary.kind));
  return {{"type", "Split"},
          {"pattern", {{"Regex", huggingface::word_pattern()}}},
          {"behavior", "Removed"},
          {"invert", true}};
}

// One token for each character, or none where merges are empty.
Json without_merges(const Json& ids, const Json& unknown) {
  return {{"type", "BPE"},          {"dropout", nullptr},     {"unk_token", unknown}, {"fuse_unk", false},
          {"byte_fallback", false}, {"ignore_merges", false}, {"vocab", ids},         {"merges", Json::array()}};
}

Json of_bytes(const Vocabulary& vocabulary) {
  Json ids = ids_of_pieces(vocabulary);
  const auto first = static_cast<int64_t>(ids.size());
  for (int64_t byte = 0; byte < static_cast<int64_t>(kBytes); ++byte) {
    ids[huggingface::characters_from_bytes(std::string(1, static_cast<char>(byte)))] = first + byte;
  }
  return without_merges(ids, nullptr);
}

Json of_vocabulary(const Tokenizer& tokenizer, const std::string& where) {
  const Vocabulary vocabulary = parse_vocabulary(tokenizer.serialize(), where);
  require_only_line_breaks(vocabulary.user_symbols, where);
  const Json ids = ids_of_pieces(vocabulary);
  const std::string& unknown = vocabulary.special.unk;
  Json document{{"added_tokens", special_tokens(vocabulary)},
                {"normalizer", sequence("normalizers", normalizers_of(vocabulary.normalization))}};
  switch (vocabulary.kind) {
    case TokenizerKind::wordpiece:
      document["pre_tokenizer"] = splitting_words(vocabulary, where);
      document["decoder"] = {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", false}};
      document["model"] = {{"type", "WordPiece"},
                           {"unk_token", unknown},
                           {"continuing_subword_prefix", "##"},
                           {"max_input_chars_per_word", kMaxWordLength},
                           {"vocab", ids}};
      break;
    case TokenizerKind::word:
      document["pre_tokenizer"] = splitting_words(vocabulary, where);
      document["model"] = {{"type", "WordLevel"}, {"unk_token", unknown}, {"vocab", ids}};
      break;
    case TokenizerKind::byte:
      document["pre_tokenizer"] = {
          {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", false}, {"use_regex", false}};
      document["decoder"] = document["pre_tokenizer"];
      document["model"] = of_bytes(vocabulary);
      break;
    default:
      document["decoder"] = {{"type", "Fuse"}};
      document["model"] = without_merges(ids, unknown);
      break;
  }
  return document;
}

// Its own file without heed's member.
WrittenTokenizer of_tokenizer_json(const Tokenizer& tokenizer, const std::string& where) {
  Json document = Json::parse(tokenizer.serialize());
  WrittenTokenizer written;
  if (const auto own = document.find("heed"); own != document.end()) {
    read_special_names(own->dump(), where, written.names);
    document.erase(own);
  }
  require<ConfigError>(!document["model"].contains("ids"), where,
                       "its tokenizer numbers SentencePiece's pieces by a list, which tokenizer.json cannot");
  written.document = document.dump();
  return written;
}

bool is_sentencepiece(const Tokenizer& tokenizer) {
  return tokenizer.kind() == TokenizerKind::bpe || tokenizer.kind() == TokenizerKind::unigram;
}

}  // namespace

WrittenTokenizer write_huggingface_tokenizer(const Tokenizer& tokenizer, const TextFrames& frames,
                                             const std::string& where) {
  if (dynamic_cast<const HuggingFaceTokenizer*>(&tokenizer) != nullptr) {
    return of_tokenizer_json(tokenizer, where);
  }
  Json document = is_sentencepiece(tokenizer) ? of_sentencepiece(tokenizer, where) : of_vocabulary(tokenizer, where);
  if (tokenizer.kind() == TokenizerKind::word || tokenizer.kind() == TokenizerKind::wordpiece) {
    add_line_break(tokenizer, document);
  }
  document["post_processor"] = processor_of(tokenizer, frames);
  return {huggingface::write_document(std::move(document), where), names_of(tokenizer)};
}

}  // namespace heed
