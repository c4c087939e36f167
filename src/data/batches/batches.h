// Which sentences form which batch: shuffled, of similar lengths; the order can be resumed from any position.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/random.h"

namespace heed {

// The rows that a sentence takes in the model, special tokens included.
struct SentenceRows {
  int64_t source = 0, target = 0;
};
using SentenceLengths = std::function<SentenceRows(int64_t sentence)>;

enum class PoolOrder : uint8_t { by_length, shuffled };

// A batch is full when one more sentence would exceed a limit. 0 means no limit; at least one limit must be set. A
// sentence that exceeds one alone is a batch of its own. Batches are ragged, so only real tokens count.
struct BatchRules {
  int64_t target_tokens = 0;
  int64_t total_tokens = 0;  // of source and target
  int64_t sentences = 0;
  // Batches are taken from pools of about this many sentences. The larger the pool, the more similar the lengths in a
  // batch; but once it is near the whole corpus, the batches of different epochs become similar too.
  int64_t pool = 10'000;
  PoolOrder order = PoolOrder::by_length;

  // Throws ConfigError, with a message that a user can act on.
  void validate() const;
};

// A position in a stream of batches, saved with the state of training.
struct BatchPosition {
  uint64_t stream = 0;  // a hash of the stream's seed, rules and data
  int64_t epoch = 0, pool = 0, batch = 0;
  bool operator==(const BatchPosition&) const = default;
};

// An endless stream of batches, epoch after epoch. Each epoch has every sentence once: the corpus is permuted by (seed,
// epoch) and split into pools; a pool is sorted by target length and split into batches, which are shuffled. Sentences
// of equal length stay in permuted order: if they were sorted by source length too, epochs would repeat each other's
// batches (docs/data.md). The batch at a position does not depend on what was read before, and seeking plans one pool.
class BatchStream {
 public:
  // `data` is the fingerprint of the corpus. ConfigError for rules that no batch can satisfy.
  BatchStream(int64_t sentences, SentenceLengths lengths, const BatchRules& rules, uint64_t seed, uint64_t data);

  // The sentences of the next batch; valid until the next call.
  std::span<const int64_t> next();

  // The position of the batch that next() will return.
  const BatchPosition& position() const { return position_; }
  // ConfigError for a position of another stream, or one that this stream does not have.
  void seek(const BatchPosition& position);

  int64_t pools() const { return pools_; }

 private:
  struct Member {
    int64_t sentence;
    SentenceRows rows;
  };
  struct Range {
    int64_t begin, end;
  };
  // A pool's sentences, and the batches as ranges of them, in the order in which they are used.
  struct Pool {
    int64_t epoch = -1, index = -1;
    std::vector<int64_t> sentences;
    std::vector<Range> batches;
  };

  RandomKey key(int64_t epoch) const;
  int64_t pool_begin(int64_t index) const;
  std::vector<Member> draw(int64_t epoch, int64_t index) const;
  std::vector<Range> cut(const std::vector<Member>& members) const;
  Pool plan(int64_t epoch, int64_t index) const;
  void plan_current();

  int64_t sentences_, unit_ = 1, units_ = 1, pools_ = 1;  // a unit is never split between pools
  SentenceLengths lengths_;
  BatchRules rules_;
  uint64_t seed_;
  BatchPosition position_;
  Pool pool_;
};

}  // namespace heed
