#include <nlohmann/json.hpp>
#include <utility>

#include "base/errors.h"
#include "base/system/files.h"
#include "base/text/excerpt.h"
#include "interchange/marian/marian_model.h"
#include "interchange/marian/marian_vocabulary.h"
#include "text/huggingface/huggingface_tokenizer.h"
#include "text/huggingface/older/older_files.h"

namespace heed {
namespace {

using huggingface::SentencePieceFile;
using huggingface::TextFrame;

bool is_sentencepiece(const std::filesystem::path& file) {
  return file.extension() == ".spm" || file.extension() == ".model";
}

// A list of tokens names those that Nematus called otherwise, if they have their usual numbers.
SpecialNames names_of_list(const std::vector<std::string>& tokens) {
  const bool old_end = !tokens.empty() && tokens[0] == "eos", old_unknown = tokens.size() > 1 && tokens[1] == "UNK";
  return {.eos = old_end ? "eos" : "</s>", .unk = old_unknown ? "UNK" : "<unk>"};
}

// vocab.json of these tokens.
std::string numbers_of(const std::vector<std::string>& tokens) {
  nlohmann::json numbers = nlohmann::json::object();
  for (size_t i = 0; i < tokens.size(); ++i) {
    numbers[tokens[i]] = i;
  }
  return numbers.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// A SentencePiece model that has its own numbers, or a list of tokens, which `cutter` (a SentencePiece model) cuts texts
// into, or which stand between spaces. Texts end in </s>.
std::shared_ptr<const Tokenizer> tokenizer_of(const std::filesystem::path& file, const std::filesystem::path& cutter,
                                              int64_t rows) {
  if (is_sentencepiece(file)) {
    const std::string model = read_file(file);
    const SpecialNames names{.eos = "</s>", .unk = "<unk>"};
    const SentencePieceFile pieces{.model = model, .frame = TextFrame::end, .names = names};
    return parse_huggingface_tokenizer(tokenizer_json_of(pieces, file.string()), file.string(), {names, rows});
  }
  const std::vector<std::string> tokens = read_marian_vocabulary(file);
  const SpecialNames names = names_of_list(tokens);
  if (!std::filesystem::is_regular_file(cutter)) {
    const huggingface::SpacedTokens words{.tokens = tokens, .frame = TextFrame::end, .names = names};
    return parse_huggingface_tokenizer(tokenizer_json_of(words, file.string()), file.string(), {names, rows});
  }
  const std::string model = read_file(cutter), numbers = numbers_of(tokens);
  const SentencePieceFile pieces{.model = model,
                                 .vocabulary = numbers,
                                 .numbers = SentencePieceFile::Numbers::listed,
                                 .frame = TextFrame::end,
                                 .names = names};
  return parse_huggingface_tokenizer(tokenizer_json_of(pieces, cutter.string()), cutter.string(), {names, rows});
}

// source.spm and target.spm, where decoder.yml names no vocabularies.
std::vector<std::filesystem::path> files_beside(const std::filesystem::path& folder) {
  for (const auto& [source, target] : {std::pair("source.spm", "target.spm"), std::pair("vocab.spm", "vocab.spm")}) {
    if (std::filesystem::is_regular_file(folder / source) && std::filesystem::is_regular_file(folder / target)) {
      return {folder / source, folder / target};
    }
  }
  fail<FormatError>(folder.string(),
                    "decoder.yml names no vocabularies, and there are neither source.spm and target.spm "
                    "nor vocab.spm");
}

}  // namespace

Tokenizers read_marian_tokenizers(const std::filesystem::path& folder, const ForeignModel& model) {
  const MarianDecoder decoder = read_marian_decoder(folder);
  const std::vector<std::filesystem::path> files =
      decoder.vocabularies.empty() ? files_beside(folder) : decoder.vocabularies;
  const auto source_cutter = folder / "source.spm", target_cutter = folder / "target.spm";
  const auto source = tokenizer_of(files[0], source_cutter, model.config.source_vocabulary);
  const bool cut_apart = !is_sentencepiece(files[0]) && std::filesystem::is_regular_file(source_cutter);
  const bool is_one =
      files[0] == files[1] && !cut_apart && model.config.source_vocabulary == model.config.target_vocabulary;
  return {source, is_one ? source : tokenizer_of(files[1], target_cutter, model.config.target_vocabulary)};
}

}  // namespace heed
