// Which keys a query sees.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/rounding.h"
#include "tensor/segments.h"

namespace heed {

// A pattern that follows from positions alone. Queries are aligned with the end of the keys: query i of n, among m
// keys, has position m - n + i, so that cached decoding and full attention agree.
struct Visibility {
  enum class Reach : uint8_t { full, causal };

  Reach reach = Reach::full;
  int64_t window = 0;  // 0: unlimited; otherwise only keys less than `window` positions away
  int64_t stride = 1;  // only keys a multiple of `stride` positions away

  static Visibility full() { return {}; }
  static Visibility causal() { return {Reach::causal, 0, 1}; }
  static Visibility local(Reach reach, int64_t window) { return {reach, window, 1}; }
  static Visibility strided(Reach reach, int64_t stride) { return {reach, 0, stride}; }
  bool operator==(const Visibility&) const = default;

  // The predicate, for a query and a key by position.
  constexpr bool sees(int64_t query, int64_t key) const {
    return (reach == Reach::full || key <= query) && (window == 0 || (query - key < window && key - query < window)) &&
           (query - key) % stride == 0;
  }

  // Tokens see only those whose positions have the same residue modulo the stride: each such class is a sequence of
  // its own, in which neighbours are a stride apart, and in which this pattern holds.
  Visibility within_class() const { return {reach, ceil_div(window, stride), 1}; }

  // The smallest range of keys, out of [0, keys), that contains all that the queries at positions [first, last] see
  // with a stride of 1: kernels skip all others. Empty when begin >= end.
  struct Range {
    int64_t begin, end;
  };
  constexpr Range range(int64_t first, int64_t last, int64_t keys) const {
    const int64_t begin = window == 0 ? 0 : std::max<int64_t>(0, first - window + 1);
    const int64_t after_window = window == 0 ? keys : last + window;
    const int64_t after_reach = reach == Reach::causal ? last + 1 : keys;
    return {begin, std::max(begin, std::min({keys, after_window, after_reach}))};
  }

  // How many of the keys [0, keys) a query sees.
  constexpr int64_t count(int64_t query, int64_t keys) const {
    const Range near = range(query, query, keys);
    // Those before `end` that are a whole number of strides away from the query, less those before `begin`.
    const auto strides = [this](int64_t distance) {
      return distance >= 0 ? distance / stride : -((stride - 1 - distance) / stride);
    };
    return strides(near.end - 1 - query) - strides(near.begin - 1 - query);
  }
};

// The tokens of a sequence whose positions have one residue modulo a visibility's stride: the sequence itself if the
// stride is 1. Query i of the class is the sequence's query first_query + i * stride, and its position among the keys
// of the class is first_position + i; key j is the sequence's key residue + j * stride.
struct ResidueClass {
  // The sequence has this many queries and keys.
  struct Of {
    int64_t queries, keys, stride, residue;
  };
  explicit ResidueClass(const Of& all)
      : stride(all.stride), residue(all.residue), keys(elements_from(all.residue, all.keys)) {
    const int64_t offset = all.keys - all.queries;  // the first query's position
    first_query = ((residue - offset) % stride + stride) % stride;
    queries = elements_from(first_query, all.queries);
    first_position = (offset + first_query - residue) / stride;
  }

  int64_t stride, residue, keys;
  int64_t first_query = 0, queries = 0, first_position = 0;

 private:
  int64_t elements_from(int64_t first, int64_t end) const { return first >= end ? 0 : (end - 1 - first) / stride + 1; }
};

// A mask supplied by the user: for each sequence a block of bits, queries x keys, set where the query sees the key. It
// restricts a Visibility further. The output of a query that sees nothing is zeros.
class AttentionMask {
 public:
  AttentionMask(const Segments& queries, const Segments& keys);  // nothing visible

  void show(int64_t sequence, int64_t query, int64_t key);
  void hide(int64_t sequence, int64_t query, int64_t key);
  bool sees(int64_t sequence, int64_t query, int64_t key) const {
    return (row(sequence, query)[key >> 6] >> (key & 63)) & 1U;
  }
  // The bits of one query, key 0 lowest.
  const uint64_t* row(int64_t sequence, int64_t query) const {
    const Block& block = blocks_[static_cast<size_t>(sequence)];
    return words_.data() + block.first_word + query * block.words_per_row;
  }
  int64_t sequences() const { return static_cast<int64_t>(blocks_.size()); }
  int64_t queries(int64_t sequence) const { return blocks_[static_cast<size_t>(sequence)].queries; }
  int64_t keys(int64_t sequence) const { return blocks_[static_cast<size_t>(sequence)].keys; }

 private:
  struct Block {
    int64_t first_word, words_per_row, queries, keys;
  };
  uint64_t& word(int64_t sequence, int64_t query, int64_t key);

  std::vector<Block> blocks_;
  std::vector<uint64_t> words_;
};

// The usual masks, for users who think in them; the engine itself needs none of them. With a padding mask every query
// sees the first `visible[s]` keys of its sequence.
AttentionMask padding_mask(const Segments& queries, const Segments& keys, const std::vector<int64_t>& visible);
AttentionMask causal_mask(const Segments& sequences);
AttentionMask combine(const AttentionMask& a, const AttentionMask& b);  // visible in both

}  // namespace heed
