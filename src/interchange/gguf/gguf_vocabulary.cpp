#include "interchange/gguf/gguf_vocabulary.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <set>
#include <unordered_set>

#include "base/text/excerpt.h"
#include "interchange/gguf/gguf_cuts.h"
#include "text/huggingface/older/older_files.h"
#include "text/unicode/unicode.h"

namespace heed {
namespace {

using Piece = SentencePieceModel::Piece;
using PieceType = SentencePieceModel::PieceType;
using huggingface::TextFrame;

constexpr std::string_view kPrefix = "tokenizer.ggml.", kTokensKey = "tokenizer.ggml.tokens",
                           kTypesKey = "tokenizer.ggml.token_type", kScoresKey = "tokenizer.ggml.scores",
                           kMergesKey = "tokenizer.ggml.merges", kCutKey = "tokenizer.ggml.pre",
                           kModelKey = "tokenizer.ggml.model";

// What is read, or says nothing about the tokens of a text: infilling's marks, other forms of the same tokenizer.
constexpr std::array<std::string_view, 13> kReadKeys{
    kTokensKey,
    kTypesKey,
    kScoresKey,
    kMergesKey,
    kCutKey,
    kModelKey,
    "tokenizer.ggml.add_bos_token",
    "tokenizer.ggml.add_eos_token",
    "tokenizer.ggml.add_sep_token",
    "tokenizer.ggml.add_space_prefix",
    "tokenizer.ggml.remove_extra_whitespaces",
    "tokenizer.chat_template",
    "tokenizer.huggingface.json",
};
constexpr std::array<std::string_view, 6> kMarks{"bos", "eos", "eot", "eom", "unknown", "padding"};

// By which llama.cpp finds the ends of turns in files that do not name them.
constexpr std::array<std::string_view, 9> kEnds{
    "<|eot_id|>",    "<|im_end|>",    "<|end|>",
    "<end_of_turn>", "<|endoftext|>", "<|end_of_text|>",
    "<EOT>",         "<|eom_id|>",    "<\uff5cend\u2581of\u2581sentence\uff5c>"};

std::string mark_key(std::string_view mark) { return fmt::format("{}{}_token_id", kPrefix, mark); }

// An empty token, which no text has, is spelled by its number.
std::vector<std::string> read_tokens(const GgufMetadata& metadata) {
  std::vector<std::string> tokens = metadata.texts(kTokensKey);
  require<FormatError>(!tokens.empty(), metadata.where(), "'{}' is empty", kTokensKey);
  for (size_t i = 0; i < tokens.size(); ++i) {
    tokens[i] = tokens[i].empty() ? fmt::format("[EMPTY_{}]", i) : std::move(tokens[i]);
  }
  return tokens;
}

void require_spellings(const std::vector<std::string>& tokens, const std::string& where) {
  std::unordered_set<std::string_view> known;
  for (size_t i = 0; i < tokens.size(); ++i) {
    require<FormatError>(!find_invalid_utf8(tokens[i]), where, "'{}': token {} is not UTF-8", kTokensKey, i);
    require<FormatError>(known.insert(tokens[i]).second, where, "'{}': token {}, '{}', occurs twice", kTokensKey, i,
                         shown(tokens[i]));
  }
}

template <class T>
void require_one_each(const std::optional<std::vector<T>>& list, size_t tokens, const std::string& where,
                      std::string_view key) {
  require<FormatError>(!list || list->size() == tokens, where, "'{}' has {} values for {} tokens", key,
                       list ? list->size() : 0, tokens);
}

}  // namespace

GgufVocabulary::GgufVocabulary(const GgufMetadata& metadata)
    : metadata_(metadata), kind_(metadata.text(kModelKey)), tokens_(read_tokens(metadata)) {
  require<FormatError>(
      kind_ == "llama" || kind_ == "gpt2", metadata.where(),
      "'{}' is '{}', a kind of tokenizer that heed does not read from GGUF files; it reads llama, gpt2", kModelKey,
      shown(kind_));
  const std::string file = std::filesystem::path(metadata.where()).filename().string();
  origins_.push_back({file, std::string(kModelKey), metadata.shown_value(kModelKey)});
  if (kind_ == "gpt2") {
    cut_ = metadata.find_text(kCutKey).value_or("default");
    gguf_cut(cut_, metadata.where());
    origins_.push_back({file, std::string(kCutKey), fmt::format("'{}'", cut_), !metadata.has(kCutKey)});
  }
  origins_.push_back({file, std::string(kTokensKey), metadata.shown_value(kTokensKey)});
  for (const std::string_view mark : kMarks) {
    if (metadata.has(mark_key(mark))) {
      origins_.push_back({file, mark_key(mark), fmt::format("{} '{}'", *id_of(mark), shown(*spelled(mark)))});
    }
  }
  require<FormatError>(!flag("add_eos_token", false) && !flag("add_sep_token", false), metadata.where(),
                       "'{}add_eos_token' or '{}add_sep_token' is true, but heed's texts go on after a prompt", kPrefix,
                       kPrefix);
  require<FormatError>(!begins_with_bos() || spelled("bos"), metadata.where(),
                       "texts begin with bos, but there is no '{}'", mark_key("bos"));
}

std::optional<int64_t> GgufVocabulary::id_of(std::string_view mark) const {
  const std::string key = mark_key(mark);
  std::optional<int64_t> id = metadata_.find_integer(key);
  if (!id && kind_ == "llama") {
    const std::optional<int64_t> usual = mark == "unknown" ? std::optional<int64_t>(0)
                                         : mark == "bos"   ? std::optional<int64_t>(1)
                                         : mark == "eos"   ? std::optional<int64_t>(2)
                                                           : std::nullopt;
    return usual && *usual < std::ssize(tokens_) ? usual : std::nullopt;
  }
  require<FormatError>(!id || (*id >= 0 && *id < std::ssize(tokens_)), metadata_.where(),
                       "'{}' is {}, but there are {} tokens", key, id.value_or(0), tokens_.size());
  return id;
}

std::optional<std::string> GgufVocabulary::spelled(std::string_view mark) const {
  const std::optional<int64_t> id = id_of(mark);
  return id ? std::optional(tokens_[static_cast<size_t>(*id)]) : std::nullopt;
}

bool GgufVocabulary::flag(std::string_view key, bool absent) const {
  return metadata_.find_boolean(std::string(kPrefix) + std::string(key)).value_or(absent);
}

bool GgufVocabulary::begins_with_bos() const {
  const bool usual = kind_ == "llama" || gguf_cut(cut_, metadata_.where()).begins_with_bos;
  return flag("add_bos_token", usual);
}

std::vector<int32_t> GgufVocabulary::ends() const {
  std::set<int32_t> ends;
  for (const std::string_view mark : {"eos", "eot", "eom"}) {
    if (const std::optional<int64_t> id = id_of(mark)) {
      ends.insert(static_cast<int32_t>(*id));
    }
  }
  for (size_t i = 0; i < tokens_.size(); ++i) {
    if (std::ranges::find(kEnds, tokens_[i]) != kEnds.end()) {
      ends.insert(static_cast<int32_t>(i));
    }
  }
  return {ends.begin(), ends.end()};
}

std::vector<std::string> GgufVocabulary::unread() const {
  std::vector<std::string> keys;
  for (const std::string& key : metadata_.keys()) {
    const bool is_mark = key.starts_with(kPrefix) && key.ends_with("_token_id");
    if (key.starts_with("tokenizer.") && !is_mark && std::ranges::find(kReadKeys, key) == kReadKeys.end()) {
      keys.push_back(key);
    }
  }
  return keys;
}

SpecialNames GgufVocabulary::names() const {
  return {.bos = spelled("bos").value_or(""),
          .eos = spelled("eos").value_or(""),
          .unk = spelled("unknown").value_or(""),
          .pad = spelled("padding").value_or("")};
}

std::vector<Piece> GgufVocabulary::pieces() const {
  require_spellings(tokens_, metadata_.where());
  const auto types = metadata_.find_integers(kTypesKey);
  const auto scores = metadata_.find_reals(kScoresKey);
  require_one_each(types, tokens_.size(), metadata_.where(), kTypesKey);
  require_one_each(scores, tokens_.size(), metadata_.where(), kScoresKey);
  std::vector<Piece> pieces;
  for (size_t i = 0; i < tokens_.size(); ++i) {
    const int64_t type = types ? (*types)[i] : 1;
    require<FormatError>(type >= 0 && type <= static_cast<int64_t>(PieceType::byte), metadata_.where(),
                         "'{}': token {} is of type {}, which is unknown", kTypesKey, i, type);
    const float score = scores ? (*scores)[i] : 0.0F;
    require<FormatError>(std::isfinite(score), metadata_.where(), "'{}': the score of token {} is not finite",
                         kScoresKey, i);
    pieces.push_back({tokens_[i], score, type == 0 ? PieceType::normal : static_cast<PieceType>(type)});
  }
  return pieces;
}

// llama.cpp's tokenizer has no normalization, and puts a space before each text, also behind a symbol in it.
std::string GgufVocabulary::scored_document() const {
  using huggingface::SentencePieceFile;
  SentencePieceModel model{.type = SentencePieceModel::Type::bpe, .pieces = pieces()};
  require<FormatError>(metadata_.has(kScoresKey), metadata_.where(), "there is no '{}'", kScoresKey);
  SentencePieceFile file{.model = {}, .vocabulary = {}};
  file.spaces = flag("add_space_prefix", true) ? SentencePieceFile::Spaces::llama : SentencePieceFile::Spaces::gemma;
  file.frame = begins_with_bos() ? TextFrame::begin : TextFrame::none;
  file.joins_symbols = true;
  file.names = names();
  return tokenizer_json_of(file, model, metadata_.where());
}

std::string GgufVocabulary::merged_document() const {
  const GgufCut& cut = gguf_cut(cut_, metadata_.where());
  require<FormatError>(!flag("add_space_prefix", false), metadata_.where(),
                       "'{}add_space_prefix' is true, which heed lacks for tokens of bytes", kPrefix);
  return tokenizer_json_of(huggingface::ByteLevelTokens{.tokens = pieces(),
                                                        .merges = metadata_.texts(kMergesKey),
                                                        .expressions = {cut.expressions.begin(), cut.expressions.end()},
                                                        .ignore_merges = cut.ignores_merges,
                                                        .frame = begins_with_bos() ? TextFrame::begin : TextFrame::none,
                                                        .names = names()},
                           metadata_.where());
}

std::shared_ptr<const Tokenizer> GgufVocabulary::tokenizer(int64_t rows) const {
  return parse_huggingface_tokenizer(kind_ == "llama" ? scored_document() : merged_document(), metadata_.where(),
                                     {names(), rows});
}

}  // namespace heed
