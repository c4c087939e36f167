// A batch of a parallel corpus as a translation model takes it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/strong.h"
#include "data/batches/batches.h"
#include "data/corpus/corpus.h"
#include "tensor/batches.h"

namespace heed {

// The ids around a sentence. The decoder reads begin, b1 .. bm, t1 .. tn, where b are those before the target, and is
// expected to predict b1 .. bm, t1 .. tn, end.
struct SentenceMarks {
  TokenId begin, end;
  std::vector<int32_t> before_source = {}, after_source = {}, before_target = {};
};

// The number of rows of each pair, for BatchStream. The corpus must outlive it.
SentenceLengths pair_lengths(const Corpus& corpus, const SentenceMarks& special);
SentenceLengths pair_lengths(Corpus&& corpus, const SentenceMarks& special) = delete;

// Changes a sentence's tokens when they are put into a batch. An empty function leaves them unchanged.
using TokenChange = std::function<void(int64_t sentence, std::vector<int32_t>& tokens)>;
struct PairChanges {
  TokenChange source, target;
};

// The index of each side's first row in the whole update, when a batch is one shard of it.
struct FirstRows {
  uint64_t source = 0, target = 0;
};

// ShapeError for a special token outside its vocabulary, or a corpus that does not have two sides.
PairBatch make_pairs(const Corpus& corpus, std::span<const int64_t> sentences, const SentenceMarks& special,
                     const PairChanges& changes = {}, FirstRows first = {});

// Where a batch's sentences come from, for messages: "a.de:3 | a.en:3, a.de:7 | a.en:7 and 126 more".
std::string describe_origins(const Corpus& corpus, std::span<const int64_t> sentences);
std::string list_origins(const Corpus& corpus, std::span<const int64_t> sentences);  // all, one per line

}  // namespace heed
