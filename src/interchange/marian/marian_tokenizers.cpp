#include <utility>

#include "base/errors.h"
#include "base/system/files.h"
#include "base/text/excerpt.h"
#include "interchange/marian/marian_model.h"
#include "text/huggingface/huggingface_tokenizer.h"
#include "text/huggingface/older/older_files.h"

namespace heed {
namespace {

// A model's own numbers are those of its rows; texts end in </s>.
std::shared_ptr<const Tokenizer> pieces_of(const std::filesystem::path& file, int64_t rows) {
  require<FormatError>(file.extension() == ".spm" || file.extension() == ".model", file.string(),
                       "is not a SentencePiece model (.spm), and how it cuts texts into its tokens is not said");
  const std::string model = read_file(file);
  const SpecialNames names{.eos = "</s>", .unk = "<unk>"};
  using huggingface::SentencePieceFile;
  const SentencePieceFile pieces{.model = model, .frame = huggingface::TextFrame::end, .names = names};
  return parse_huggingface_tokenizer(tokenizer_json_of(pieces, file.string()), file.string(), {names, rows});
}

// source.spm and target.spm, where decoder.yml names no vocabularies that can be read.
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
  const auto source = pieces_of(files[0], model.config.source_vocabulary);
  const bool is_one = files[0] == files[1] && model.config.source_vocabulary == model.config.target_vocabulary;
  return {source, is_one ? source : pieces_of(files[1], model.config.target_vocabulary)};
}

}  // namespace heed
