// Tells a listener how translations grow.
#pragma once

#include <map>
#include <span>

#include "decode/search/search.h"
#include "decode/texts/text_stream.h"
#include "decode/texts/translation/text_translation.h"
#include "decode/texts/translation/translation_stream.h"

namespace heed {

// From one thread.
class TranslationNews {
 public:
  TranslationNews(const Tokenizer& target, EachToken each, TranslationListener& listener)
      : target_(target), each_(each), listener_(listener) {}

  // Line number `line` has more tokens, by a hypothesis that consists of these alone.
  void grown(size_t line, const Hypothesis& more);
  void considered(size_t line, const BeamSteps& steps);
  void ready(size_t line, std::span<const TranslatedLine> translated);

 private:
  struct Line {
    explicit Line(const Tokenizer& target) : offsets(target, {}, {}), text(target) {}

    std::vector<int32_t> tokens;
    TextStream offsets;
    TranslationStream text;
  };

  const Tokenizer& target_;
  EachToken each_;
  TranslationListener& listener_;
  std::map<size_t, Line> growing_;
};

}  // namespace heed
