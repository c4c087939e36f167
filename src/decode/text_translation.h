// Translating text: lines in, lines out, in their order.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "decode/lanes.h"
#include "decode/translation.h"
#include "text/tokenizer.h"

namespace heed {

// An encoder-decoder with its tokenizers, and the workers that run it. Any number of threads may use it at once.
struct TextTranslator {
  Inference inference;
  const Tokenizer& source;
  const Tokenizer& target;
  Lanes& lanes;  // of the backend of `inference`
};

struct TranslatedLine {
  std::string text;  // a line break that the model wrote is a space here: a line stays a line
  Hypothesis hypothesis;
};

// The source's tokens as the model reads them, its end included.
std::vector<int32_t> source_tokens(const TextTranslator& translator, std::string_view line);

// What becomes of a line that the model is too short for: it is refused, or its last tokens are left out.
enum class Overlong : uint8_t { refuse, cut };

// Each line's hypotheses, best first. An empty line (white space alone) gives one empty hypothesis. Lines are batched by
// length, which changes no result. `where(i)` names line i in messages: FormatError for one that is not text, or that the
// model is too short for. bos and eos of `options` are the target tokenizer's.
std::vector<std::vector<TranslatedLine>> translate_lines(const TextTranslator& translator,
                                                         std::span<const std::string> lines, SearchOptions options,
                                                         const std::function<std::string(size_t)>& where,
                                                         Overlong overlong = Overlong::refuse);

// For each line and each of its hypotheses, the source token that each target token looks at most; see align_pairs().
std::vector<std::vector<std::vector<int64_t>>> align_lines(const TextTranslator& translator,
                                                           std::span<const std::string> lines,
                                                           std::span<const std::vector<TranslatedLine>> translated);

// What a side's line i is called in messages.
struct PairNames {
  std::function<std::string(size_t)> source, target;
};

struct LineScore {
  double log_probability = 0.0;
  int64_t tokens = 0;  // of the target, its end included
};

// The log-probability of each line's translation. FormatError as above, for either side.
std::vector<LineScore> score_lines(const TextTranslator& translator, std::span<const std::string> sources,
                                   std::span<const std::string> targets, const PairNames& names,
                                   Overlong overlong = Overlong::refuse);

}  // namespace heed
