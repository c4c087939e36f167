// SentencePiece models with the ids of the families that use them.
#include <algorithm>
#include <unordered_map>

#include "base/errors.h"
#include "base/text/base64.h"
#include "text/huggingface/characters/characters.h"
#include "text/huggingface/models/model.h"
#include "text/huggingface/older/documents.h"
#include "text/huggingface/older/older_files.h"
#include "text/sentencepiece/sentencepiece_model.h"

namespace heed::huggingface {
namespace {

using PieceType = SentencePieceModel::PieceType;
using ModelPiece = SentencePieceModel::Piece;
using Numbers = SentencePieceFile::Numbers;
using Spaces = SentencePieceFile::Spaces;

constexpr std::string_view kSpaceMark = "\u2581";

// The pieces in the order of their ids. With listed ids, those of SentencePiece come first, and `ids` says which they
// have.
struct NumberedPieces {
  std::vector<ModelPiece> pieces;
  std::vector<int64_t> ids;  // empty: 0, 1, 2, ...
  TokenIds by_text;
  int64_t unknown = 0;
  Json others = Json::object();  // listed tokens that are not SentencePiece's
};

NumberedPieces number_pieces(const SentencePieceFile& file, const SentencePieceModel& model, std::string_view where) {
  NumberedPieces result;
  if (file.numbers == Numbers::fairseq) {
    require<FormatError>(model.pieces.size() > 3, where, "{} pieces, expected <unk>, <s>, </s> and more",
                         model.pieces.size());
    for (const char* const text : {"<s>", "<pad>", "</s>", "<unk>"}) {
      result.pieces.push_back(
          {text, 0.0F, std::string_view(text) == "<unk>" ? PieceType::unknown : PieceType::control});
    }
    result.pieces.insert(result.pieces.end(), model.pieces.begin() + 3, model.pieces.end());
  } else if (file.numbers == Numbers::pegasus) {
    require<FormatError>(model.pieces.size() > 2, where, "{} pieces, expected <pad>, </s>, <unk> and more",
                         model.pieces.size());
    for (const char* const text : {"<pad>", "</s>", "<mask_1>", "<mask_2>"}) {
      result.pieces.push_back({text, 0.0F, PieceType::control});
    }
    constexpr int kFirstUnknown = 2, kLastUnknown = 102;
    for (int i = kFirstUnknown; i <= kLastUnknown; ++i) {
      result.pieces.push_back({fmt::format("<unk_{}>", i), 0.0F, PieceType::control});
    }
    result.pieces.insert(result.pieces.end(), model.pieces.begin() + 2, model.pieces.end());
  } else {
    result.pieces = model.pieces;
  }
  for (const std::string& text : file.more) {
    result.pieces.push_back({text, 0.0F, PieceType::control});
  }
  for (size_t i = 0; i < result.pieces.size(); ++i) {
    result.by_text[result.pieces[i].text] = static_cast<int64_t>(i);
    if (result.pieces[i].type == PieceType::unknown) {
      result.unknown = static_cast<int64_t>(i);
    }
  }
  return result;
}

// Gives pieces the ids of vocab.json; those that it lacks are unknown.
void list_pieces(const SentencePieceFile& file, NumberedPieces& numbered, std::string_view where) {
  const JsonTree<Json> tree = parse_json(file.vocabulary, where);
  const Json& parsed = tree.root();
  require<FormatError>(parsed.is_object(), where, "expected an object of tokens and their ids");
  TokenIds listed;
  for (const auto& [text, id] : parsed.items()) {
    listed[text] = JsonValue(id, fmt::format("{}.{}", where, text)).integer(0, kMaxTokenId);
  }
  int64_t next = 0;
  for (const auto& [text, id] : listed) {
    next = std::max(next, id + 1);
  }
  for (const std::string& text : file.more) {
    if (!listed.contains(text)) {
      listed[text] = next++;
    }
  }
  const auto unknown = listed.find(file.names.unk);
  require<FormatError>(unknown != listed.end(), where, "the vocabulary lacks the unknown token '{}'", file.names.unk);
  for (const ModelPiece& piece : numbered.pieces) {
    const auto it = listed.find(piece.text);
    numbered.ids.push_back(it == listed.end() ? unknown->second : it->second);
  }
  for (const auto& [text, id] : listed) {
    if (!numbered.by_text.contains(text)) {
      numbered.others[text] = id;
    }
  }
  numbered.by_text = std::move(listed);
}

struct PieceMerge {
  std::string_view left, right;
  float score;
  size_t left_size, right_size;  // characters
};

// Every way to make a piece of two others, in the order in which SentencePiece would take them: by score.
Json merges_of(const NumberedPieces& numbered, bool joins_symbols, std::string_view where) {
  std::unordered_map<std::string_view, size_t> numbers;
  for (size_t i = 0; i < numbered.pieces.size(); ++i) {
    numbers.emplace(numbered.pieces[i].text, i);
  }
  std::vector<PieceMerge> merges;
  for (const ModelPiece& piece : numbered.pieces) {
    const bool is_symbol = piece.type == PieceType::user_defined || piece.type == PieceType::unused;
    if (piece.type != PieceType::normal && !(joins_symbols && is_symbol)) {
      continue;
    }
    const std::string_view text = piece.text;
    require<FormatError>(text.size() < 4096, where, "a piece of {} bytes", text.size());
    const size_t first = merges.size();
    for (size_t at = character_size(text.front()); at < text.size(); at += character_size(text[at])) {
      const std::string_view left = text.substr(0, at), right = text.substr(at);
      if (numbers.contains(left) && numbers.contains(right)) {
        merges.push_back({left, right, piece.score, count_characters(left), count_characters(right)});
      }
    }
    std::stable_sort(
        merges.begin() + static_cast<ptrdiff_t>(first), merges.end(), [&](const PieceMerge& a, const PieceMerge& b) {
          return std::pair(numbers[a.left], numbers[a.right]) < std::pair(numbers[b.left], numbers[b.right]);
        });
  }
  std::ranges::stable_sort(merges, [](const PieceMerge& a, const PieceMerge& b) {
    return a.score != b.score           ? a.score > b.score
           : a.left_size != b.left_size ? a.left_size > b.left_size
                                        : a.right_size > b.right_size;
  });
  Json list = Json::array();
  for (const PieceMerge& merge : merges) {
    list.push_back({std::string(merge.left), std::string(merge.right)});
  }
  return list;
}

bool spells_bytes(const SentencePieceModel& model) {
  return std::ranges::any_of(model.pieces, [](const ModelPiece& piece) { return piece.type == PieceType::byte; });
}

Json unigram_of(const NumberedPieces& numbered, bool bytes) {
  Json vocabulary = Json::array();
  for (const ModelPiece& piece : numbered.pieces) {
    vocabulary.push_back({piece.text, static_cast<double>(piece.score)});
  }
  Json model{{"type", "Unigram"}, {"unk_id", numbered.unknown}, {"byte_fallback", bytes}, {"vocab", vocabulary}};
  if (!numbered.ids.empty()) {
    model["ids"] = numbered.ids;
    model["others"] = numbered.others;
  }
  return model;
}

Json bpe_of(const NumberedPieces& numbered, const SentencePieceFile& file, bool bytes, std::string_view where) {
  Json vocabulary = numbered.others;
  for (size_t i = 0; i < numbered.pieces.size(); ++i) {
    const std::string& text = numbered.pieces[i].text;
    const auto it = numbered.by_text.find(text);
    require<FormatError>(it != numbered.by_text.end(), where, "the vocabulary lacks the piece '{}' of the model", text);
    vocabulary[text] = it->second;
  }
  return {{"type", "BPE"},
          {"dropout", nullptr},
          {"unk_token", file.names.unk},
          {"fuse_unk", true},
          {"byte_fallback", bytes},
          {"vocab", vocabulary},
          {"merges", merges_of(numbered, file.joins_symbols, where)}};
}

Json replace_rule(const char* kind, std::string_view from, std::string_view to) {
  return {{"type", "Replace"}, {"pattern", {{kind, std::string(from)}}}, {"content", std::string(to)}};
}

void write_spaces(const SentencePieceFile& file, const SentencePieceModel& model, Json& document) {
  const Json marks = replace_rule("String", " ", kSpaceMark);
  Json decoders =
      Json::array({replace_rule("String", kSpaceMark, " "), {{"type", "ByteFallback"}}, {{"type", "Fuse"}}});
  switch (file.spaces) {
    case Spaces::llama:
    case Spaces::llama_once:
      if (file.spaces == Spaces::llama) {
        const Json prepended{{"type", "Prepend"}, {"prepend", std::string(kSpaceMark)}};
        document["normalizer"] = {{"type", "Sequence"}, {"normalizers", {prepended, marks}}};
      } else {
        document["pre_tokenizer"] = {{"type", "Metaspace"},
                                     {"replacement", std::string(kSpaceMark)},
                                     {"prepend_scheme", "first"},
                                     {"split", false}};
      }
      decoders.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
      document["decoder"] = {{"type", "Sequence"}, {"decoders", decoders}};
      return;
    case Spaces::gemma:
      document["normalizer"] = marks;
      document["pre_tokenizer"] = {
          {"type", "Split"}, {"pattern", {{"String", " "}}}, {"behavior", "MergedWithPrevious"}, {"invert", false}};
      document["decoder"] = {{"type", "Sequence"}, {"decoders", decoders}};
      return;
    default:
      break;
  }
  Json normalizers = Json::array();
  if (model.maps_characters) {
    normalizers.push_back({{"type", "Precompiled"}, {"precompiled_charsmap", encode_base64(model.character_map)}});
  }
  if (model.spaces.trimmed) {
    normalizers.push_back({{"type", "Strip"}, {"strip_left", false}, {"strip_right", true}});
    normalizers.push_back(replace_rule("Regex", " {2,}", kSpaceMark));
  }
  document["normalizer"] = {{"type", "Sequence"}, {"normalizers", normalizers}};
  document["pre_tokenizer"] = {{"type", "Metaspace"},
                               {"replacement", std::string(kSpaceMark)},
                               {"prepend_scheme", model.spaces.prefixed ? "always" : "never"},
                               {"split", true}};
  document["decoder"] = document["pre_tokenizer"];
  if (spells_bytes(model)) {
    document["decoder"] = {{"type", "Sequence"}, {"decoders", {{{"type", "ByteFallback"}}, document["pre_tokenizer"]}}};
  }
}

}  // namespace

std::string tokenizer_json_of(const SentencePieceFile& file, std::string_view where) {
  return tokenizer_json_of(file, read_sentencepiece_model(file.model, where), where);
}

std::string tokenizer_json_of(const SentencePieceFile& file, const SentencePieceModel& model, std::string_view where) {
  require<FormatError>(model.type == SentencePieceModel::Type::unigram || model.type == SentencePieceModel::Type::bpe,
                       where, "a SentencePiece model of words or characters, expected unigram or bpe");
  require<FormatError>(!model.spaces.as_suffix && model.spaces.escaped, where,
                       "a SentencePiece model whose spaces end words, or are not marked");
  NumberedPieces numbered = number_pieces(file, model, where);
  if (file.numbers == Numbers::listed) {
    list_pieces(file, numbered, where);
  }
  Json document = Json::object();
  Json added = added_special_tokens(file.names, numbered.by_text);
  add_symbols(numbered.pieces, numbered.by_text, added);
  document["added_tokens"] = added;
  write_spaces(file, model, document);
  document["post_processor"] = frame_processor(file.frame, file.names, file.language, numbered.by_text, where);
  const bool bytes = spells_bytes(model);
  document["model"] = model.type == SentencePieceModel::Type::unigram ? unigram_of(numbered, bytes)
                                                                      : bpe_of(numbered, file, bytes, where);
  return write_document(std::move(document), where);
}

}  // namespace heed::huggingface
