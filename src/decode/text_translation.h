// Translating text: lines in, lines out, in their order.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "decode/search.h"
#include "text/tokenizer.h"

namespace heed {

struct TextTranslator {
  TranslationModel translation;
  const Tokenizer& source;
  const Tokenizer& target;
};

struct TranslatedLine {
  std::string text;
  Hypothesis hypothesis;
};

// The source's tokens as the model reads them, its end included.
std::vector<int32_t> source_tokens(const TextTranslator& translator, std::string_view line);

// Each line's hypotheses, best first. An empty line (white space alone) gives one empty hypothesis. Lines are batched by
// length, which changes no result. `where(i)` names line i in messages: FormatError for one that the model is too short
// for. bos and eos of `options` are the target tokenizer's.
std::vector<std::vector<TranslatedLine>> translate_lines(const TextTranslator& translator,
                                                         std::span<const std::string> lines, SearchOptions options,
                                                         const std::function<std::string(size_t)>& where);

// The log-probability of each line's translation.
std::vector<double> score_lines(const TextTranslator& translator, std::span<const std::string> sources,
                                std::span<const std::string> targets, const std::function<std::string(size_t)>& where);

}  // namespace heed
