// What a CTranslate2 directory has beside its variables: tokens, and which of them begin and end texts.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "interchange/ctranslate2/model_file.h"

namespace heed {

struct CTranslate2Config {
  std::string unknown = "<unk>", begin = "<s>", end = "</s>";
  std::optional<std::string> decoder_start = "<s>";  // none: callers give it
  bool adds_source_begin = false, adds_source_end = false;
  std::optional<double> epsilon = {};  // of norms; none: 1e-5, of root mean squares 1e-6
};

// config.json of binary version 6; before, scalars of model.bin, with the defaults above. FormatError, naming the key,
// for a value of another kind, and for 4-bit quantization.
CTranslate2Config read_ctranslate2_config(const std::filesystem::path& directory, const CTranslate2File& file);

struct CTranslate2Vocabularies {
  std::filesystem::path source_file, target_file;  // the same where they are shared
  std::vector<std::string> source, target;
};

// shared_vocabulary, or source_vocabulary and target_vocabulary, each .json (a list of texts) or .txt (a line each). A
// token that is missing but means unknown words is added at the end. FormatError for a vocabulary that is missing, has a
// token twice, or is one of several sources' (source_1_vocabulary).
CTranslate2Vocabularies read_ctranslate2_vocabularies(const std::filesystem::path& directory,
                                                      const std::string& unknown);

// Whether the folder has a model.bin beside a vocabulary or a config.json of this form.
bool is_ctranslate2(const std::filesystem::path& directory);

}  // namespace heed
