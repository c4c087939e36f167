// What an encoder-decoder reads and writes around its texts: ends, and the names of languages.
#pragma once

#include <cstdint>
#include <vector>

#include "heed/types/writing/translation.h"
#include "text/model_marks.h"
#include "text/translation_tokenizers.h"

namespace heed {

class TranslationFrame {
 public:
  // ConfigError for languages that the model does not know.
  TranslationFrame(const TranslationTokenizers& tokenizers, const ModelMarks& marks, const LanguagePair& languages);

  // Whether the model writes several languages and was not told which.
  bool lacks_target() const { return !knows_target_; }
  // ConfigError if lacks_target().
  void require_target() const;

  // A source's tokens as the encoder reads them.
  std::vector<int32_t> around_source(std::vector<int32_t> ids) const;
  const std::vector<int32_t>& before_source() const { return before_; }
  const std::vector<int32_t>& after_source() const { return after_; }
  int64_t tokens_around_source() const { return std::ssize(before_) + std::ssize(after_); }
  // What every translation begins with. The decoder reads the first token before it writes; the others are written.
  const std::vector<int32_t>& target_start() const { return target_start_; }
  // A translation's tokens, its end not among them, with those that it has in any case.
  std::vector<int32_t> forced_target(const std::vector<int32_t>& ids) const;

 private:
  void set_source(const Tokenizer& tokenizer);

  std::vector<int32_t> before_, after_, target_start_;
  bool knows_target_;
};

}  // namespace heed
