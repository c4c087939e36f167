// Which sentences make which batch: shuffled, of like lengths, and the same again after a stop.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/random.h"

namespace heed {

// The rows that a sentence takes in the model, with the special tokens it is given.
struct SentenceRows {
  int64_t source = 0, target = 0;
};
using SentenceLengths = std::function<SentenceRows(int64_t sentence)>;

enum class PoolOrder : uint8_t { by_length, shuffled };

// A batch is full where one more sentence would pass a limit; 0 means no limit, and one must be given. A sentence that
// passes one alone is a batch of its own. Batches are ragged, so only real tokens count.
struct BatchRules {
  int64_t target_tokens = 0;
  int64_t total_tokens = 0;  // of source and target
  int64_t sentences = 0;
  // Batches are cut from pools of about so many sentences: the larger, the more alike the lengths in a batch; but also,
  // once it is near the whole corpus, the batches of one epoch and the next.
  int64_t pool = 10'000;
  PoolOrder order = PoolOrder::by_length;

  // Throws ConfigError with what a person can act on.
  void validate() const;
};

// A place in a stream of batches, to be kept with what was trained up to it.
struct BatchPosition {
  uint64_t stream = 0;  // of which stream: its seed, rules and data
  int64_t epoch = 0, pool = 0, batch = 0;
  bool operator==(const BatchPosition&) const = default;
};

// Batches without end, epoch after epoch. In each, every sentence comes once: the corpus is permuted by (seed, epoch) and
// cut into pools; a pool is sorted by target length, cut into batches, and these are shuffled. Equals stay in permuted
// order: sorted by source length too, epochs would repeat each other's batches (docs/data.md). What comes at a position
// depends on nothing read before it, and seeking plans one pool.
class BatchStream {
 public:
  // `data` is the fingerprint of what the sentences are. ConfigError for rules that no batch can keep.
  BatchStream(int64_t sentences, SentenceLengths lengths, const BatchRules& rules, uint64_t seed, uint64_t data);

  // The sentences of the next batch; valid until the next call.
  std::span<const int64_t> next();

  // Where next() stands.
  const BatchPosition& position() const { return position_; }
  // ConfigError for a position of another stream, or one that is not in this.
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
  // A pool's sentences, and the batches as ranges of them, in the order of their turns.
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

  int64_t sentences_, unit_ = 1, units_ = 1, pools_ = 1;  // a unit is what no pool's end cuts
  SentenceLengths lengths_;
  BatchRules rules_;
  uint64_t seed_;
  BatchPosition position_;
  Pool pool_;
};

}  // namespace heed
