// A CTranslate2 directory of an encoder-decoder as a model of heed's.
#pragma once

#include <filesystem>

#include "interchange/ctranslate2/directory.h"
#include "interchange/foreign_model.h"
#include "text/translation_tokenizers.h"

namespace heed {

struct CTranslate2Model {
  ForeignModel model;
  CTranslate2Config config;
  CTranslate2Vocabularies vocabularies;  // as many tokens as the tables have rows
  // The token whose row of the target's table is zero, since the program begins with a vector of zeros; none: it begins
  // with config.decoder_start. It is not in the vocabularies: its number is theirs.
  std::optional<int64_t> zero_token = {};
};

// FormatError, naming the variable, for what heed lacks: several sources, alibi, relative or rotary positions, and
// settings that differ between the stacks.
CTranslate2Model read_ctranslate2_model(const std::filesystem::path& directory);

// Where there is a SentencePiece model beside the vocabularies (source.spm and target.spm, sentencepiece.model ...), texts
// are cut by it; else tokens are what stands between spaces, as the program itself takes them.
Tokenizers read_ctranslate2_tokenizers(const std::filesystem::path& directory, const ForeignModel& model);

}  // namespace heed
