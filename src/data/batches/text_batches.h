// Which parts of a text form which batch of a language model; the order can be resumed from any position.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/batches/batches.h"
#include "data/corpus/text_corpus.h"
#include "tensor/batches.h"

namespace heed {

// Whether a token is kept from seeing the previous document.
enum class DocumentBorders : uint8_t { kept, crossed };

struct RowRange {
  int64_t begin = 0, end = 0;
  bool operator==(const RowRange&) const = default;
};

// A text as rows, one for each token that has a next one. Where borders are kept, a document's last token has none.
class TextRows {
 public:
  // The corpus must outlive it.
  TextRows(const TextCorpus& corpus, DocumentBorders borders) : corpus_(corpus), borders_(borders) {}
  TextRows(TextCorpus&& corpus, DocumentBorders borders) = delete;

  int64_t size() const;
  // One segment for each document in a range, or, where borders are crossed, for each range; then nothing is expected
  // after the end of a document. `first_row` is the index of the first row in the whole update, when this is one shard
  // of it.
  TokenBatch read(std::span<const RowRange> ranges, uint64_t first_row = 0) const;

  // "input.txt:8 to 12, input.txt:104 to 107 and 10 more"; and all of them, one per line.
  std::string describe(std::span<const RowRange> ranges) const;
  std::string list(std::span<const RowRange> ranges) const;

 private:
  int64_t first_row(int64_t document) const;
  int64_t document_at(int64_t row) const;
  std::string where(RowRange range) const;

  const TextCorpus& corpus_;
  DocumentBorders borders_;
};

enum class TextOrder : uint8_t {
  packed,   // the rows, split into sequences of `context`, in a new random order each epoch
  windows,  // sequences of `context` rows, each from a position that is drawn uniformly
};

struct TextBatchRules {
  int64_t context = 0;    // rows of a sequence
  int64_t sequences = 0;  // of a batch
  TextOrder order = TextOrder::packed;

  // Throws ConfigError, with a message that a user can act on.
  void validate() const;
};

// An endless stream of batches. An epoch has each row once; its last sequence and its last batch may be shorter. An
// epoch of windows is the number of full batches that have as many rows. The batch at a position does not depend on
// what was read before, and seeking takes no time. In a position, `pool` is always 0.
class TextBatches {
 public:
  // `data` is the fingerprint of the rows' data. ConfigError when there are fewer rows than the context.
  TextBatches(int64_t rows, const TextBatchRules& rules, uint64_t seed, uint64_t data);

  std::vector<RowRange> next();

  const BatchPosition& position() const { return position_; }
  // ConfigError for a position of another stream, or one that this stream does not have.
  void seek(const BatchPosition& position);

  int64_t batches_per_epoch() const { return batches_; }
  int64_t sequences_per_epoch() const {
    return rules_.order == TextOrder::packed ? sequences_ : batches_ * rules_.sequences;
  }

 private:
  std::vector<RowRange> packed() const;
  std::vector<RowRange> windows() const;

  int64_t rows_, sequences_ = 0, batches_ = 0;  // of an epoch
  TextBatchRules rules_;
  RandomKey key_;
  BatchPosition position_;
};

}  // namespace heed
