// The tokenizers of a model.
#pragma once

#include <memory>
#include <vector>

#include "text/tokenizer.h"

namespace heed {

// One for each role in a model, in their order; the same one twice where source and target share it.
using Tokenizers = std::vector<std::shared_ptr<const Tokenizer>>;

struct TranslationTokenizers {
  const Tokenizer& source;
  const Tokenizer& target;

  // Those of an encoder-decoder, which must outlive it.
  static TranslationTokenizers of(const Tokenizers& both) { return {*both.front(), *both.back()}; }

  bool are_shared() const { return &source == &target; }  // one tokenizer for both languages
};

}  // namespace heed
