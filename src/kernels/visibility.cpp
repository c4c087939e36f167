#include "kernels/visibility.h"

#include "base/errors.h"
#include "base/rounding.h"

namespace heed {

AttentionMask::AttentionMask(const Segments& queries, const Segments& keys) {
  require(queries.count() == keys.count(), "attention mask", "{} sequences of queries, {} of keys", queries.count(),
          keys.count());
  int64_t words = 0;
  for (int64_t s = 0; s < queries.count(); ++s) {
    const int64_t words_per_row = ceil_div(keys.length(s), 64);
    blocks_.push_back({words, words_per_row, queries.length(s), keys.length(s)});
    words += words_per_row * queries.length(s);
  }
  words_.assign(static_cast<size_t>(words), 0);
}

uint64_t& AttentionMask::word(int64_t sequence, int64_t query, int64_t key) {
  require(sequence >= 0 && sequence < sequences(), "attention mask", "sequence {} of {}", sequence, sequences());
  const Block& block = blocks_[static_cast<size_t>(sequence)];
  require(query >= 0 && query < block.queries && key >= 0 && key < block.keys, "attention mask",
          "query {}, key {} in a block of {} x {}", query, key, block.queries, block.keys);
  return words_[static_cast<size_t>(block.first_word + query * block.words_per_row + (key >> 6))];
}

void AttentionMask::show(int64_t sequence, int64_t query, int64_t key) {
  word(sequence, query, key) |= uint64_t{1} << (key & 63);
}

void AttentionMask::hide(int64_t sequence, int64_t query, int64_t key) {
  word(sequence, query, key) &= ~(uint64_t{1} << (key & 63));
}

AttentionMask padding_mask(const Segments& queries, const Segments& keys, const std::vector<int64_t>& visible) {
  require(static_cast<int64_t>(visible.size()) == keys.count(), "padding mask", "{} lengths for {} sequences",
          visible.size(), keys.count());
  AttentionMask mask(queries, keys);
  for (int64_t s = 0; s < keys.count(); ++s) {
    for (int64_t query = 0; query < queries.length(s); ++query) {
      for (int64_t key = 0; key < visible[static_cast<size_t>(s)]; ++key) {
        mask.show(s, query, key);
      }
    }
  }
  return mask;
}

AttentionMask causal_mask(const Segments& sequences) {
  AttentionMask mask(sequences, sequences);
  for (int64_t s = 0; s < sequences.count(); ++s) {
    for (int64_t query = 0; query < sequences.length(s); ++query) {
      for (int64_t key = 0; key <= query; ++key) {
        mask.show(s, query, key);
      }
    }
  }
  return mask;
}

AttentionMask combine(const AttentionMask& a, const AttentionMask& b) {
  require(a.sequences() == b.sequences(), "combined mask", "{} and {} sequences", a.sequences(), b.sequences());
  AttentionMask both = a;
  for (int64_t s = 0; s < a.sequences(); ++s) {
    require(a.queries(s) == b.queries(s) && a.keys(s) == b.keys(s), "combined mask",
            "sequence {}: blocks of {} x {} and {} x {}", s, a.queries(s), a.keys(s), b.queries(s), b.keys(s));
    for (int64_t query = 0; query < a.queries(s); ++query) {
      for (int64_t key = 0; key < a.keys(s); ++key) {
        if (!b.sees(s, query, key)) {
          both.hide(s, query, key);
        }
      }
    }
  }
  return both;
}

}  // namespace heed
