// The tokens that an encoder-decoder reads and writes beside its texts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heed {

struct TranslationMarks {
  // What a translation begins with, the first of which the decoder reads before it writes anything; those after it are
  // written in any case. Empty: the target's bos.
  std::vector<int32_t> target_start;
  // How a language is spelt as a token in models of several: "__{}__", ">>{}<<", "{}". Empty: they have no languages.
  std::string language_form;

  bool operator==(const TranslationMarks&) const = default;
};

}  // namespace heed
