// Translating text: lines in, lines out, in their order.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "decode/rules/automaton_cache.h"
#include "decode/scheduling/scheduler.h"
#include "decode/texts/translation/translation.h"
#include "heed/types/reading/on_result.h"
#include "heed/types/tokenizer.h"
#include "text/model_marks.h"
#include "text/shortlist.h"
#include "text/translation_tokenizers.h"

namespace heed {

// An encoder-decoder with its tokenizers. Any number of threads may use it at once.
struct TextTranslator {
  Scheduler& scheduler;
  TranslationTokenizers tokenizers;
  AutomatonCache* automata = nullptr;    // of the target, for all calls; none: each call makes its own
  const Shortlist* shortlist = nullptr;  // none: translations may have all tokens
  ModelMarks marks = {};
};

// What drafts from the source's text need to know.
inline SourceVocabulary vocabulary_of_source(const TranslationTokenizers& tokenizers) {
  return tokenizers.are_shared() ? SourceVocabulary::same : SourceVocabulary::other;
}

// Line breaks written by the model are spaces in the text, so that a line stays one line.
struct TranslatedLine {
  Translation translation;
  std::vector<int32_t> ids;  // without bos and eos
};

// The source's tokens as the model reads them, its end included.
std::vector<int32_t> source_tokens(const TextTranslator& translator, std::string_view line);

// Each line's translations, best first. An empty line (white space alone) gives one empty translation. FormatError for
// a line that is not text or is too long for the model. InterruptedError when the options' interruption came first.
std::vector<std::vector<TranslatedLine>> translate_lines(const TextTranslator& translator,
                                                         std::span<const std::string> lines,
                                                         const TranslationOptions& options, const LineName& name,
                                                         TooLong too_long = TooLong::refuse,
                                                         TranslationListener* listener = nullptr);

// The log-probability of each line's translation. FormatError as above, for either side; InterruptedError when the
// interruption comes before the last batch.
std::vector<PairScore> score_lines(const TextTranslator& translator, const LinePairs& pairs, const LinePairName& name,
                                   TooLong too_long = TooLong::refuse, const LanguagePair& languages = {},
                                   const Interruption& interruption = {}, const Sharing& sharing = {},
                                   const OnResult<PairScore>& on_result = {});

}  // namespace heed
