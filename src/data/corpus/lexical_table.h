// What a parallel corpus says about which words translate which: a table of translation probabilities between tokens,
// by IBM Model 1, of which a shortlist keeps the best.
#pragma once

#include "base/system/threads.h"
#include "data/corpus/corpus.h"
#include "text/shortlist.h"

namespace heed {

struct LexicalRules {
  int64_t best = 100;      // target tokens for each source token, at most
  int64_t frequent = 100;  // target tokens that every sentence may use
};

// The corpus must have two sides. The result does not depend on the number of threads. Besides the corpus it needs 4
// bytes for each token of either side, and at most 8 KB for each token of the source's vocabulary. ConfigError for
// rules out of range.
ShortlistTable learn_shortlist(const Corpus& corpus, const LexicalRules& rules, ThreadPool& pool);

}  // namespace heed
