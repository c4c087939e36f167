// The two tokenizers of a translation model.
#pragma once

#include "text/tokenizer.h"

namespace heed {

struct TranslationTokenizers {
  const Tokenizer& source;
  const Tokenizer& target;

  bool are_shared() const { return &source == &target; }  // one tokenizer for both languages
};

}  // namespace heed
