// How attention is split into shares of work, and which keys the queries of a share see.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/rounding.h"
#include "kernels/calls/attention.h"
#include "kernels/cpu/machine/context.h"

namespace heed::cpu {

constexpr int64_t kPanel = 64;     // columns of a panel
constexpr int64_t kKeyBlock = 64;  // keys per block, from key 0 on: one bit of a word each
constexpr int64_t kRowGroup = 64;  // rows that are multiplied with a block of keys at a time
constexpr int64_t kFewRows = 4;    // up to this many, as in decoding, reading keys and values takes most of the time

constexpr int64_t panels_for(int64_t columns) { return ceil_div(columns, kPanel); }
constexpr int64_t panel_columns(int64_t columns, int64_t panel) { return std::min(kPanel, columns - panel * kPanel); }

// Columns of a head of queries and keys, and of values.
struct HeadWidths {
  // From matrices with rows of queries.
  HeadWidths(const AttentionSettings& settings, const ConstView& queries, const ConstView& output)
      : of_keys(queries.columns() / settings.heads), of_values(output.columns() / settings.heads) {}

  int64_t of_keys, of_values;
};

// Some of a sequence's queries: of one class of a strided pattern, by which they are counted.
struct QueryRange {
  int64_t sequence, residue;
  int64_t first_query, queries;
  int64_t first_weight;  // where the weights of its sequence begin, if they were requested
  bool operator==(const QueryRange&) const = default;
};

// One worker's unit of work: a range of queries for some key-value heads, each with all heads that share
// it. For each of these, rows are ordered by head, then by query.
struct Share {
  QueryRange query_range;
  int64_t first_key_value_head, key_value_heads;
};

// What a worker does around a share, as far as that is known.
struct Surroundings {
  bool begins;            // the worker had no share of this range of queries before, nor one that named it as the next
  QueryRange next_range;  // the share's own if none is known
};

// All shares of a call, grouped into tasks long enough to be worth claiming.
class Shares {
 public:
  // `max_queries` per range of queries; 0: whole classes, those without queries too.
  Shares(Context& context, const AttentionSettings& settings, const Segments& queries, const Segments& keys,
         int64_t head_width, int64_t max_queries);

  int64_t tasks() const { return ceil_div(count_, per_task_); }

  // Calls body(share, surroundings) for each share of a task. Sequences come in order, so that a worker has about the
  // same rows here as in other ops. Within a sequence the last range of queries comes first: under a causal mask it is
  // the longest, and the short ones balance the load at the end.
  template <class Body>
  void for_each(int64_t task, Body&& body) const {
    const int64_t begin = task * per_task_, end = std::min(count_, begin + per_task_);
    const bool begins = begin % key_value_heads_ != 0 || pool_begins_with(task);
    for (int64_t i = begin, heads = 0; i < end; i += heads) {
      const int64_t query_range = i / key_value_heads_, head = i % key_value_heads_;
      heads = std::min(key_value_heads_ - head, end - i);
      const bool whole = heads == key_value_heads_ && (query_range + 1) * key_value_heads_ < count_;
      body(Share{query_ranges_[query_range], head, heads},
           Surroundings{begins && i == begin, query_ranges_[whole ? query_range + 1 : query_range]});
    }
  }

 private:
  enum class RowCount : uint8_t { few, many };  // of a share: at most kFewRows, or more
  int64_t shares_of_task(int64_t work, RowCount rows) const;
  // Whether it is the first of some worker's own share of the tasks.
  bool pool_begins_with(int64_t task) const;

  const QueryRange* query_ranges_;
  int64_t key_value_heads_, threads_, count_ = 0, per_task_ = 1;  // in key-value heads of ranges of queries
};

// The queries and keys of a class.
inline ResidueClass class_of(const AttentionSettings& settings, const Segments& queries, const Segments& keys,
                             int64_t sequence, int64_t residue) {
  return ResidueClass({.queries = queries.length(sequence),
                       .keys = keys.length(sequence),
                       .stride = settings.visibility.stride,
                       .residue = residue});
}

// Some tokens of a sequence, `step` apart.
struct TokenRange {
  int64_t sequence, first, count, step = 1;
};
// The rows of the tokens' keys and values.
void list_rows(const ConstKeyValueView& memory, const TokenRange& tokens, int64_t* rows);

// Hands out parts of one block of memory. Without a block it only counts the bytes.
class Carver {
 public:
  explicit Carver(std::byte* memory = nullptr) : memory_(memory) {}

  template <class T>
  T* take(int64_t count) {
    T* const taken = memory_ == nullptr ? nullptr : reinterpret_cast<T*>(memory_ + bytes_);
    bytes_ += round_up(count * static_cast<int64_t>(sizeof(T)), 64);
    return taken;
  }
  int64_t bytes() const { return bytes_; }

 private:
  std::byte* memory_;
  int64_t bytes_ = 0;
};

// Builds Buffers(carver, sizes...) in the worker's own memory.
template <class Buffers, class... Sizes>
Buffers carve(Scratch& scratch, Sizes... sizes) {
  Carver counter;
  Buffers(counter, sizes...);
  Carver carver(scratch.reserve<std::byte>(counter.bytes()));
  return Buffers(carver, sizes...);
}

// What one query sees.
struct Query {
  Visibility::Range seen;           // by position alone
  const uint64_t* mask_words;       // of the user's mask, or null
  int64_t residue = 0, stride = 1;  // of its class, by whose tokens keys are counted

  // The keys among [first_key, first_key + kKeyBlock): one bit each.
  uint64_t seen_bits(int64_t first_key) const {
    const int64_t begin = std::clamp<int64_t>(seen.begin - first_key, 0, kKeyBlock);
    const int64_t end = std::clamp<int64_t>(seen.end - first_key, 0, kKeyBlock);
    if (begin >= end) {
      return 0;
    }
    const uint64_t bits = (~uint64_t{0} >> (kKeyBlock - (end - begin))) << begin;
    return mask_words == nullptr ? bits : bits & mask_bits(first_key, end);
  }

 private:
  uint64_t mask_bits(int64_t first_key, int64_t count) const {
    if (stride == 1) {
      return mask_words[first_key / kKeyBlock];
    }
    uint64_t bits = 0;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t key = residue + (first_key + i) * stride;
      bits |= (mask_words[key >> 6] >> (key & 63) & 1U) << i;
    }
    return bits;
  }
};

// What several rows see: every row sees all of `all`, and none sees anything outside of `any`.
struct Sight {
  Visibility::Range any, all;
};

// The queries of a range of queries, and the rows that they form with the heads of a share.
class QueryRows {
 public:
  QueryRows(Carver& from, int64_t max_queries, int64_t heads)
      : queries_(from.take<Query>(max_queries)), sights_(from.take<Sight>(groups_for(max_queries * heads))) {}

  void list(const AttentionSettings& settings, const Segments& queries, const Segments& keys,
            const QueryRange& query_range);

  int64_t rows() const { return heads_ * query_count_; }
  int64_t heads() const { return heads_; }
  int64_t queries() const { return query_count_; }
  int64_t query_row(int64_t i) const { return first_query_row_ + i * stride_; }  // in the matrix of queries
  int64_t stride() const { return stride_; }                                     // between rows of queries, and of keys
  int64_t first_position() const { return first_position_; }  // of its first query, among the keys of its class
  int64_t keys() const { return key_count_; }
  const Query& query_of(int64_t row) const { return queries_[row < query_count_ ? row : row % query_count_]; }
  const Sight& sight(int64_t first_row) const { return sights_[first_row / kRowGroup]; }
  const Visibility::Range& seen() const { return seen_; }  // by any row

 private:
  static int64_t groups_for(int64_t rows) { return ceil_div(rows, kRowGroup); }
  void sum_up();

  Query* queries_;
  Sight* sights_;  // of each kRowGroup rows
  int64_t heads_ = 1, query_count_ = 0, first_query_row_ = 0, first_position_ = 0, key_count_ = 0, stride_ = 1;
  Visibility::Range seen_{0, 0};
};

}  // namespace heed::cpu
