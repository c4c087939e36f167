// Keys and values in memory, end to end or in the pages of a cache, and the call that adds to a cache. Memory is
// View where they are written, and ConstView where they are only read; the former converts to the latter.
#pragma once

#include <type_traits>

#include "tensor/segments.h"
#include "tensor/tensor.h"

namespace heed {

// Where the rows of a paged cache are: token j of sequence s is row pages[s, j / page_tokens] * page_tokens +
// j % page_tokens. Where no query sees any token of a page, the entry may name any page whose values are finite.
struct PageTable {
  ConstView pages;  // i32 [sequences, max pages of a sequence]
  int64_t page_tokens = 16;
};

// What linear attention knows of the tokens that came before those of a cache: for each key-value head, sums over the
// first `tokens` of a sequence, whole chunks, whose keys and values need not be in the cache any more.
template <class Memory>
struct LinearStatesIn {
  Memory sums;       // master type [slots, size()]; the order of a slot's elements is the backend's own
  ConstView slots;   // i32 [1, sequences]: a sequence's row of `sums`, which is not read while no token is summed
  ConstView tokens;  // i32 [1, sequences]: a sequence's summed tokens

  operator LinearStatesIn<ConstView>() const requires(!std::is_same_v<Memory, ConstView>) {
    return {sums, slots, tokens};
  }

  // The elements of a slot: the sums of phi(k) v^T and of phi(k), see LinearAttentionForward.
  static int64_t size(int64_t key_value_heads, int64_t key_width, int64_t value_width) {
    return key_value_heads * key_width * (value_width + 1);
  }
  // Requires host memory.
  int64_t tokens_of(int64_t sequence) const { return tokens.empty() ? 0 : host<int32_t>(tokens)(0, sequence); }
};
using LinearStates = LinearStatesIn<View>;
using ConstLinearStates = LinearStatesIn<ConstView>;

// The scales of keys and values in int8: a head's columns of a row are its integers times its scale.
template <class Memory>
struct KeyValueScalesIn {
  Memory keys, values;  // f32 [rows, key-value heads]

  operator KeyValueScalesIn<ConstView>() const requires(!std::is_same_v<Memory, ConstView>) { return {keys, values}; }
};
using KeyValueScales = KeyValueScalesIn<View>;
using ConstKeyValueScales = KeyValueScalesIn<ConstView>;

// Keys and values of each sequence: rows of two matrices, end to end, or scattered over pages. Their type is the
// storage type; in a cache that attention reads it may also be bf16 where that is f32, or int8 with scales.
template <class Memory>
struct KeyValuesIn {
  Memory keys, values;  // [rows, key-value heads * head width], and of values' own width
  const Segments* segments = nullptr;
  PageTable table;                       // empty pages: end to end
  LinearStatesIn<Memory> states = {};    // of linear attention; empty: no token was summed before
  KeyValueScalesIn<Memory> scales = {};  // empty unless in int8

  operator KeyValuesIn<ConstView>() const requires(!std::is_same_v<Memory, ConstView>) {
    return {keys, values, segments, table, states, scales};
  }

  bool paged() const { return !table.pages.empty(); }
  // Requires host memory.
  int64_t row(int64_t sequence, int64_t token) const {
    if (!paged()) {
      return segments->begin(sequence) + token;
    }
    const int64_t page = host<int32_t>(table.pages)(sequence, token / table.page_tokens);
    return page * table.page_tokens + token % table.page_tokens;
  }
};
using KeyValueView = KeyValuesIn<View>;
using ConstKeyValueView = KeyValuesIn<ConstView>;

// Writes new rows into a cache, in its type: they become the last tokens of their sequences in `memory`. To int8, each
// head's part is rounded by quantize_row().
struct KeyValueAppend {
  ConstView keys, values;              // [new rows, columns of the memory's], storage type
  const Segments* segments = nullptr;  // of the new rows
  KeyValueView memory;                 // its segments include the new rows
};

}  // namespace heed
