// How attention is cut into shares of work, and which keys the rows of a share see.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "kernels/cpu/context.h"
#include "kernels/kernels.h"

namespace heed::cpu {

constexpr int64_t kPanel = 64;      // columns of a panel
constexpr int64_t kKeyBlock = 64;   // keys taken at a time, from key 0 on: a column of a panel, and one bit of a word, each
constexpr int64_t kRowGroup = 64;   // rows that meet a block of keys at a time
constexpr int64_t kChunkRows = 256;  // rows that meet a block of keys once it is brought: enough to make up for that

// Some of a sequence's queries.
struct Piece {
  int64_t sequence, first_query, queries;
  int64_t first_weight;  // where the weights of its sequence begin, for those who asked for them
};

// What one worker does at a time: the queries of a piece under all heads that read one key-value head. Its rows are head
// after head, and within a head query after query.
struct Share {
  Piece piece;
  int64_t key_value_head;
};

// All shares of a call, bundled into tasks long enough to be worth claiming.
class Shares {
 public:
  // `most_queries` per piece; 0: whole sequences, those without queries too.
  Shares(Context& context, const AttentionSettings& settings, const Segments& queries, const Segments& keys,
         int64_t head_width, int64_t most_queries);

  int64_t most_rows() const { return most_rows_; }  // of any share
  int64_t tasks() const { return (count_ + per_task_ - 1) / per_task_; }

  // Calls body(share, next) for each share of a task; `next` is the one after it, or none.
  template <class Body>
  void for_each(int64_t task, Body&& body) const {
    const int64_t end = std::min(count_, (task + 1) * per_task_);
    for (int64_t i = task * per_task_; i < end; ++i) {
      body(share(i), i + 1 < end ? std::optional(share(i + 1)) : std::nullopt);
    }
  }

 private:
  // The last pieces first: under a causal mask they are the longest, and the short ones then even out the end.
  Share share(int64_t i) const {
    return {pieces_[count_ / key_value_heads_ - 1 - i / key_value_heads_], i % key_value_heads_};
  }

  const Piece* pieces_;
  int64_t key_value_heads_, most_rows_ = 0, count_ = 0, per_task_ = 1;
};

// Hands out parts of one block of memory. Without a block it only counts.
class Carver {
 public:
  explicit Carver(std::byte* memory = nullptr) : memory_(memory) {}

  template <class T>
  T* take(int64_t count) {
    T* const taken = memory_ == nullptr ? nullptr : reinterpret_cast<T*>(memory_ + bytes_);
    bytes_ += (count * static_cast<int64_t>(sizeof(T)) + 63) / 64 * 64;
    return taken;
  }
  int64_t bytes() const { return bytes_; }

 private:
  std::byte* memory_;
  int64_t bytes_ = 0;
};

// Buffers(carver, sizes...) in the worker's own memory.
template <class Buffers, class... Sizes>
Buffers carve(Scratch& scratch, Sizes... sizes) {
  Carver counter;
  Buffers(counter, sizes...);
  Carver carver(scratch.reserve<std::byte>(counter.bytes()));
  return Buffers(carver, sizes...);
}

// A row of a share: one query under one head.
struct Row {
  int64_t query_row, head;
  Visibility::Range seen;      // by position alone
  const uint64_t* mask_words;  // of the user's mask, or null
};

// What the rows of a group see: [any.begin, any.end) holds what any of them does; each of them sees [all.begin, all.end).
struct Sight {
  Visibility::Range any, all;
};

// The rows of one share at a time, and what each kRowGroup of them see.
class ShareRows {
 public:
  static int64_t groups_for(int64_t rows) { return (rows + kRowGroup - 1) / kRowGroup; }

  ShareRows(Carver& from, int64_t most_rows)
      : rows_(from.take<Row>(most_rows)), sights_(from.take<Sight>(groups_for(most_rows))) {}

  void list(const AttentionSettings& settings, const Segments& queries, const Segments& keys, const Share& share);

  int64_t count() const { return count_; }
  const Row& operator[](int64_t r) const { return rows_[r]; }
  const Sight& sight(int64_t first_row) const { return sights_[first_row / kRowGroup]; }
  const Visibility::Range& seen() const { return seen_; }  // by any row

 private:
  void sum_up();

  Row* rows_;
  Sight* sights_;
  int64_t count_ = 0;
  Visibility::Range seen_{0, 0};
};

// The keys that the row sees among [first_key, first_key + kKeyBlock): one bit each.
inline uint64_t seen_bits(const Row& row, int64_t first_key) {
  const int64_t begin = std::clamp<int64_t>(row.seen.begin - first_key, 0, kKeyBlock);
  const int64_t end = std::clamp<int64_t>(row.seen.end - first_key, 0, kKeyBlock);
  if (begin >= end) {
    return 0;
  }
  const uint64_t bits = (~uint64_t{0} >> (kKeyBlock - (end - begin))) << begin;
  return row.mask_words == nullptr ? bits : bits & row.mask_words[first_key / kKeyBlock];
}

// The random rows that dropout draws from; nothing without dropout.
void draw_rows(const AttentionSettings& settings, const ShareRows& rows, RowRandom* random);

constexpr int64_t panels_for(int64_t columns) { return (columns + kPanel - 1) / kPanel; }
constexpr int64_t panel_columns(int64_t columns, int64_t panel) { return std::min(kPanel, columns - panel * kPanel); }

}  // namespace heed::cpu
