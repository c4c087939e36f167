// A folder of Marian's as a model of heed's.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "interchange/foreign_model.h"
#include "interchange/marian/flat_yaml.h"
#include "interchange/marian/lexical_shortlist.h"
#include "interchange/marian/model_file.h"
#include "text/translation_tokenizers.h"

namespace heed {

struct MarianShortlist {
  std::filesystem::path file;
  ShortlistSizes sizes;  // of a text
};

// What decoder.yml says beside the weights. Files are looked for in its own folder, whatever path it gives.
struct MarianDecoder {
  std::filesystem::path weights;
  std::vector<std::filesystem::path> vocabularies;  // of source and target; empty: it does not say
  std::optional<MarianShortlist> shortlist = {};
  std::optional<int64_t> beam = {};
  std::optional<double> length_penalty = {};  // "normalize"
  std::vector<SettingOrigin> origins = {};
  std::vector<std::string> unread = {};  // keys
};

// FormatError, naming the key, where a file is not there, or several models are to be averaged.
MarianDecoder read_marian_decoder(const std::filesystem::path& folder);
// Whether the folder has a decoder.yml that names a model.
bool is_marian(const std::filesystem::path& folder);

struct MarianModel {
  ForeignModel model;
  // Marian begins with a vector of zeros: with this token, which is not in the vocabularies; its number follows theirs.
  int64_t zero_token = 0;
};

// An encoder-decoder, its decoder with self-attention or recurrent (SSRU), by its weights and the settings in them.
// FormatError, naming the key, for what heed lacks: average attention, factors, tied layers.
MarianModel read_marian_model(const std::filesystem::path& weights);

// The vocabularies that decoder.yml names, or else source.spm and target.spm (or vocab.spm): SentencePiece models, or
// lists of tokens. source.spm and target.spm cut texts into the tokens of lists; without them, tokens stand between
// spaces. FormatError where a list lacks the end or the unknown token.
Tokenizers read_marian_tokenizers(const std::filesystem::path& folder, const ForeignModel& model);

}  // namespace heed
