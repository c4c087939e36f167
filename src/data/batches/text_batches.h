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

  // The first row of a token's; with rows of whole documents left out, that of the next one that has one.
  int64_t row_of(int64_t token) const;

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

// Sequences of a batch, all of one length.
struct TextBatchSize {
  int64_t sequences = 0, context = 0;  // context: rows of a sequence
  bool operator==(const TextBatchSize&) const = default;
};

// The size that batches of windows have until an update, counted from 0.
struct TextBatchGrowth {
  int64_t until = 0;
  TextBatchSize size;
};

struct TextBatchRules {
  int64_t context = 0;    // rows of a sequence
  int64_t sequences = 0;  // of a batch
  TextOrder order = TextOrder::packed;
  std::vector<TextBatchGrowth> growth = {};  // sizes before that, one after the other

  TextBatchSize size_at(int64_t update) const;

  // Throws ConfigError, with a message that a user can act on.
  void validate() const;
};

// Rows that sequences are taken from in proportion to their weight, whatever their number.
struct WeightedRows {
  int64_t begin = 0, end = 0;
  double weight = 1.0;
  std::string name = {};  // for messages
};

// An endless stream of batches. An epoch has each row once; its last sequence and its last batch may be shorter. An
// epoch of windows is the number of full batches that have as many rows. The batch at a position does not depend on
// what was read before, and seeking takes no time. In a position, `pool` is always 0.
//
// With sources, an epoch has as many sequences as they have together, but each source has its share by weight: it goes
// on where the epoch before ended, and each of its sequences comes once before any comes again.
//
// Where batches grow, an epoch is as many batches as if they had their last size from the beginning.
class TextBatches {
 public:
  // `data` is the fingerprint of the rows' data. ConfigError when there are fewer rows than the context, and for a source
  // without a row or whose share of an epoch is none.
  TextBatches(int64_t rows, const TextBatchRules& rules, uint64_t seed, uint64_t data,
              const std::vector<WeightedRows>& sources = {});

  // The next batch, which belongs to the update of this number.
  std::vector<RowRange> next(int64_t update = 0);

  TextBatchSize size_at(int64_t update) const { return rules_.size_at(update); }
  const BatchPosition& position() const { return position_; }
  // ConfigError for a position of another stream, or one that this stream does not have.
  void seek(const BatchPosition& position);

  int64_t batches_per_epoch() const { return batches_; }
  int64_t sequences_per_epoch() const {
    return rules_.order == TextOrder::packed ? sequences_ : batches_ * rules_.sequences;
  }

 private:
  struct Source {
    WeightedRows rows;
    int64_t sequences = 0;                 // that it has
    int64_t first_turn = 0, end_turn = 0;  // of an epoch
  };

  void divide(const std::vector<WeightedRows>& sources);
  const Source& source_at(int64_t turn) const;
  RowRange sequence_at(int64_t turn) const;
  std::vector<RowRange> packed() const;
  std::vector<RowRange> windows(const TextBatchSize& size) const;

  int64_t rows_, sequences_ = 0, batches_ = 0;  // of an epoch
  std::vector<Source> sources_;
  TextBatchRules rules_;
  RandomKey key_;
  BatchPosition position_;
};

}  // namespace heed
