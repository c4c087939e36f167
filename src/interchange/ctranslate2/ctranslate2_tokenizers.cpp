#include <array>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "base/errors.h"
#include "base/system/files.h"
#include "base/text/excerpt.h"
#include "interchange/ctranslate2/ctranslate2_model.h"
#include "text/huggingface/huggingface_tokenizer.h"
#include "text/huggingface/older/older_files.h"
#include "text/unicode/unicode.h"

namespace heed {
namespace {

using TokenizerJson = nlohmann::json;

// One side's tokens, and how its texts are cut and framed.
struct VocabularySide {
  std::filesystem::path file;
  const std::vector<std::string>& tokens;
  std::optional<std::filesystem::path> pieces;  // a SentencePiece model
  std::optional<std::filesystem::path> codes;   // else of subword-nmt
  bool has_begin, has_end;
  int64_t rows;
};

std::optional<std::filesystem::path> first_of(const std::filesystem::path& directory,
                                              std::span<const std::string> names) {
  for (const std::string& name : names) {
    if (std::filesystem::is_regular_file(directory / name)) {
      return directory / name;
    }
  }
  return std::nullopt;
}

std::optional<std::filesystem::path> find_pieces(const std::filesystem::path& directory, const std::string& side) {
  const std::array<std::string, 9> names{side + ".spm",       side + ".model",       side + "_spm.model",
                                         side + ".spm.model", "sentencepiece.model", "sentencepiece.bpe.model",
                                         "spm.model",         "spiece.model",        "tokenizer.model"};
  return first_of(directory, names);
}

std::optional<std::filesystem::path> find_codes(const std::filesystem::path& directory, const std::string& side) {
  const std::array<std::string, 8> names{side + ".codes", side + ".bpe", "bpe." + side, "codes." + side,
                                         "bpe.codes",     "bpe_codes",   "codes",       "bpe.model"};
  return first_of(directory, names);
}

TokenizerJson ids_of(const VocabularySide& side) {
  TokenizerJson ids = TokenizerJson::object();
  for (size_t i = 0; i < side.tokens.size(); ++i) {
    require<FormatError>(!find_invalid_utf8(side.tokens[i]), side.file.string(), "token {} is not UTF-8", i);
    ids[side.tokens[i]] = i;
  }
  return ids;
}

// The text with the marks that the model wants around it, and no others.
TokenizerJson frame_of(const VocabularySide& side, const SpecialNames& names, const TokenizerJson& ids) {
  TokenizerJson single = TokenizerJson::array(), tokens = TokenizerJson::object();
  const auto add_mark = [&](const std::string& token) {
    require<FormatError>(ids.contains(token), side.file.string(), "there is no '{}', which stands beside texts",
                         shown(token));
    single.push_back({{"SpecialToken", {{"id", token}, {"type_id", 0}}}});
    tokens[token] = {
        {"id", token}, {"ids", TokenizerJson::array({ids[token]})}, {"tokens", TokenizerJson::array({token})}};
  };
  if (side.has_begin) {
    add_mark(names.bos);
  }
  single.push_back({{"Sequence", {{"id", "A"}, {"type_id", 0}}}});
  if (side.has_end) {
    add_mark(names.eos);
  }
  TokenizerJson pair = single;
  pair.push_back({{"Sequence", {{"id", "B"}, {"type_id", 0}}}});
  return {{"type", "TemplateProcessing"}, {"single", single}, {"pair", pair}, {"special_tokens", tokens}};
}

std::shared_ptr<const Tokenizer> tokenizer_of(const VocabularySide& side, const SpecialNames& names) {
  const TokenizerJson ids = ids_of(side);
  TokenizerJson document;
  TokenizerUse use{names, side.rows};
  if (side.pieces) {
    const std::string pieces = read_file(*side.pieces), vocabulary = ids.dump();
    document = TokenizerJson::parse(
        tokenizer_json_of(huggingface::SentencePieceFile{.model = pieces,
                                                         .vocabulary = vocabulary,
                                                         .numbers = huggingface::SentencePieceFile::Numbers::listed,
                                                         .names = names},
                          side.pieces->string()));
  } else if (side.codes) {
    const std::string codes = read_file(*side.codes);
    use.has_merge_steps = true;
    document = TokenizerJson::parse(tokenizer_json_of(
        huggingface::SubwordCodes{.codes = codes, .tokens = side.tokens, .rows = side.rows, .names = names},
        side.codes->string()));
  } else {
    document = TokenizerJson::parse(
        tokenizer_json_of(huggingface::SpacedTokens{.tokens = side.tokens, .names = names}, side.file.string()));
  }
  document["post_processor"] = frame_of(side, names, ids);
  return parse_huggingface_tokenizer(document.dump(), side.file.string(), use);
}

}  // namespace

Tokenizers read_ctranslate2_tokenizers(const std::filesystem::path& directory, const ForeignModel& model) {
  const CTranslate2File file = open_ctranslate2_file(directory / "model.bin");
  const CTranslate2Config config = read_ctranslate2_config(directory, file);
  const CTranslate2Vocabularies vocabularies = read_ctranslate2_vocabularies(directory, config.unknown);
  const SpecialNames names{.bos = config.begin, .eos = config.end, .unk = config.unknown};
  const VocabularySide source{.file = vocabularies.source_file,
                              .tokens = vocabularies.source,
                              .pieces = find_pieces(directory, "source"),
                              .codes = find_codes(directory, "source"),
                              .has_begin = config.adds_source_begin,
                              .has_end = config.adds_source_end,
                              .rows = model.config.source_vocabulary};
  const VocabularySide target{.file = vocabularies.target_file,
                              .tokens = vocabularies.target,
                              .pieces = find_pieces(directory, "target"),
                              .codes = find_codes(directory, "target"),
                              .has_begin = false,
                              .has_end = true,
                              .rows = model.config.target_vocabulary};
  return {tokenizer_of(source, names), tokenizer_of(target, names)};
}

}  // namespace heed
