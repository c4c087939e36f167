// Which target tokens a sentence's translation may have: those that its source tokens often become.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "text/translation_tokenizers.h"

namespace heed {

struct ShortlistTable {
  std::vector<int32_t> frequent;  // target tokens that every sentence may use, the most frequent first
  std::vector<int64_t> ends;      // of each source token's list in `targets`
  std::vector<int32_t> targets;   // the likeliest of each source token first
};

class Shortlist {
 public:
  // The table must be one of these tokenizers: FormatError, naming `where`, for a token that they do not have.
  Shortlist(ShortlistTable table, const TranslationTokenizers& tokenizers, std::string_view where);

  const ShortlistTable& table() const { return table_; }
  // The likeliest targets of each source token, the tokens that every sentence may use, and those in `also`; where
  // source and target share a tokenizer, the source tokens too, which may be copied. Ascending, each once.
  std::vector<int32_t> candidates(std::span<const int32_t> source, std::span<const int32_t> also) const;

 private:
  ShortlistTable table_;
  std::vector<int32_t> always_;
  int64_t target_vocabulary_;
  bool shared_;
};

}  // namespace heed
