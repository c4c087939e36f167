// Attention as the tests call it: ragged sequences, any settings, contiguous or paged keys and values.
#pragma once

#include <cmath>
#include <numeric>
#include <vector>

#include "base/rounding.h"
#include "kernels/backend_testing.h"
#include "kernels/calls/attention.h"
#include "kernels/op_cases.h"

namespace heed::test {

struct AttentionShape {
  std::vector<int64_t> queries, keys;  // lengths
  int64_t heads = 2, key_value_heads = 2, head_width = 16;
  int64_t value_width = 0;  // 0: as head_width
};

// The weights of a case of either kind of attention, for each sequence and head.
template <class Case>
Guarded weights_of(const Case& c, Backend& backend, Types types) {
  int64_t count = 0;
  for (int64_t s = 0; s < c.query_segments.count(); ++s) {
    count += c.settings.heads * c.query_segments.length(s) * c.key_segments.length(s);
  }
  Guarded weights(types.master, 1, count);
  c.forward(backend, types, weights);
  return weights;
}

struct AttentionCase {
  Segments query_segments, key_segments;
  AttentionSettings settings;
  Guarded queries, keys, values, d_output;
  PageTable table;
  Guarded distance_scores;           // settings.by_distance.table
  Guarded d_mass;                    // where the mass is asked for
  Guarded key_scales, value_scales;  // of a cache in int8
  Layout results = {};

  struct Result {
    Guarded output, log_sum_exp, mass;
  };

  static AttentionCase make(Types types, const AttentionShape& shape) {
    AttentionCase c{.query_segments = Segments(shape.queries), .key_segments = Segments(shape.keys)};
    c.settings.heads = shape.heads;
    c.settings.key_value_heads = shape.key_value_heads;
    c.settings.scale = 1.0 / std::sqrt(static_cast<double>(shape.head_width));
    const int64_t model = shape.heads * shape.head_width, memory = shape.key_value_heads * shape.head_width;
    const int64_t value_width = shape.value_width > 0 ? shape.value_width : shape.head_width;
    c.queries = random(types.storage, c.query_segments.rows(), model, 30, 1.5);
    c.keys = random(types.storage, c.key_segments.rows(), memory, 31, 1.5, {9, 1});
    c.values = random(types.storage, c.key_segments.rows(), shape.key_value_heads * value_width, 32, 1.0, {2, 6});
    c.d_output = random(types.storage, c.query_segments.rows(), shape.heads * value_width, 33);
    return c;
  }
  static AttentionCase causal(Types types, const AttentionShape& shape) {
    AttentionCase c = make(types, shape);
    c.settings.visibility = Visibility::causal();
    return c;
  }

  // With rows that lie like that.
  AttentionCase laid_out(Layout layout) const {
    AttentionCase c = *this;
    for (Guarded* rows : {&c.queries, &c.keys, &c.values, &c.d_output}) {
      *rows = clone(*rows, layout);
    }
    c.results = layout;
    return c;
  }

  // With a term of the scores by distance, for the distances [first, first + distances).
  AttentionCase by_distance(Types types, TableOf of, int64_t first, int64_t distances) const {
    AttentionCase c = *this;
    const bool of_heads = of == TableOf::head;
    c.distance_scores = random(types.master, of_heads ? settings.heads : query_segments.rows(),
                               of_heads ? distances : settings.heads * distances, 34, 1.0, {5, 3});
    c.settings.by_distance = {c.distance_scores.view(), of, distances, first, 0.7};
    return c;
  }
  // By the distances of queries, and with their mass.
  AttentionCase with_mass(Types types, int64_t first, int64_t distances) const {
    AttentionCase c = by_distance(types, TableOf::query, first, distances);
    c.d_mass = random(types.master, query_segments.rows(), settings.heads * distances, 35, 1.0, {1, 4});
    return c;
  }
  void cut_queries(int64_t first, int64_t count) {
    if (settings.by_distance.of == TableOf::query) {
      distance_scores = distance_scores.rows(first, count);
      settings.by_distance.table = distance_scores.view();
    }
    if (!d_mass.empty()) {
      d_mass = d_mass.rows(first, count);
    }
  }

  // Sequence s alone, without the mask, which belongs to all sequences.
  AttentionCase sequence(int64_t s) const {
    AttentionCase part = *this;
    const auto rows_of = [s](const Guarded& x, const Segments& segments) {
      return x.rows(segments.begin(s), segments.length(s));
    };
    part.queries = rows_of(queries, query_segments);
    part.d_output = rows_of(d_output, query_segments);
    part.keys = rows_of(keys, key_segments);
    part.values = rows_of(values, key_segments);
    part.query_segments = Segments(std::vector<int64_t>{query_segments.length(s)});
    part.key_segments = Segments(std::vector<int64_t>{key_segments.length(s)});
    part.settings.dropout = shifted(settings.dropout, query_segments.begin(s));
    part.cut_queries(query_segments.begin(s), query_segments.length(s));
    return part;
  }

  // For a single sequence: its queries [first, first + count) against the keys that a decoder has at that time, which
  // are those up to the last query.
  AttentionCase chunk(int64_t first, int64_t count) const {
    AttentionCase part = *this;
    const int64_t known = key_segments.rows() - query_segments.rows() + first + count;
    part.queries = queries.rows(first, count);
    part.keys = keys.rows(0, known);
    part.values = values.rows(0, known);
    part.query_segments = Segments(std::vector<int64_t>{count});
    part.key_segments = Segments(std::vector<int64_t>{known});
    part.settings.dropout = shifted(settings.dropout, first);
    part.cut_queries(first, count);
    return part;
  }

  // With keys and values appended to a cache of that type, end to end or in these pages, whose unused rows are NaN or,
  // in int8, have scales that are.
  AttentionCase cached_in(Backend& backend, DType type, const PageTable& pages = {}, int64_t rows = 0) const {
    AttentionCase c = *this;
    rows = std::max(rows, keys.rows());
    c.keys = Guarded(type, rows, keys.columns(), {3, 1});
    c.values = Guarded(type, rows, values.columns(), {1, 2});
    c.table = pages;
    if (type == DType::i8) {
      c.key_scales = Guarded(DType::f32, rows, settings.key_value_heads, {0, 3});
      c.value_scales = Guarded(DType::f32, rows, settings.key_value_heads, {2, 0});
    }
    backend.append_key_values({keys.view(), values.view(), &c.key_segments, c.memory()});
    EXPECT_TRUE(c.keys.untouched() && c.values.untouched());
    return c;
  }

  KeyValueView memory() const {
    return {.keys = keys.view(),
            .values = values.view(),
            .segments = &key_segments,
            .table = table,
            .scales = {key_scales.view(), value_scales.view()}};
  }

  Result forward(Backend& backend, Types types, const Guarded& weights = {}) const {
    Result result{Guarded(types.storage, queries.rows(), d_output.columns(), results),
                  Guarded(types.master, queries.rows(), settings.heads),
                  {}};
    if (!d_mass.empty()) {
      result.mass = Guarded(types.master, d_mass.rows(), d_mass.columns(), {6, 2});
    }
    backend.attention({.settings = settings,
                       .queries = queries.view(),
                       .segments = &query_segments,
                       .memory = memory(),
                       .output = result.output.view(),
                       .log_sum_exp = result.log_sum_exp.view(),
                       .weights = weights.view(),
                       .mass = result.mass.view()});
    return result;
  }
  Guarded weights(Backend& backend, Types types) const { return weights_of(*this, backend, types); }
  struct Gradients {
    Guarded d_queries, d_keys, d_values, d_by_distance;
  };
  Gradients backward(Backend& backend, const Result& saved, Types types) const {
    Gradients d{Guarded(types.storage, queries.rows(), queries.columns(), results),
                Guarded(types.storage, keys.rows(), keys.columns(), results),
                Guarded(types.storage, values.rows(), values.columns(), results),
                {}};
    if (!distance_scores.empty()) {
      const bool of_heads = settings.by_distance.of == TableOf::head;
      d.d_by_distance =
          Guarded(types.master, of_heads ? query_segments.count() * settings.heads : distance_scores.rows(),
                  distance_scores.columns(), {2, 7});
    }
    backend.attention_backward({.settings = settings,
                                .queries = queries.view(),
                                .segments = &query_segments,
                                .memory = memory(),
                                .output = saved.output.view(),
                                .log_sum_exp = saved.log_sum_exp.view(),
                                .d_output = d_output.view(),
                                .d_mass = d_mass.view(),
                                .d_queries = d.d_queries.view(),
                                .d_keys = d.d_keys.view(),
                                .d_values = d.d_values.view(),
                                .d_by_distance = d.d_by_distance.view()});
    return d;
  }
};

// Random bits, except that sequence 0's query 1 (if there is one) sees nothing.
inline AttentionMask random_mask(const Segments& queries, const Segments& keys, double density = 0.5) {
  AttentionMask mask(queries, keys);
  uint64_t draw = 0;
  for (int64_t s = 0; s < queries.count(); ++s) {
    for (int64_t i = 0; i < queries.length(s); ++i) {
      for (int64_t j = 0; j < keys.length(s); ++j) {
        if (uniform_draw(RandomKey{77}, draw++) < density && !(s == 0 && i == 1)) {
          mask.show(s, i, j);
        }
      }
    }
  }
  return mask;
}

// Pages for sequences of these lengths in a shuffled order, and a few unused ones.
struct ShuffledPages {
  Guarded numbers;
  int64_t page_tokens = 0, rows = 0;  // rows: of keys and values

  ShuffledPages(const Segments& segments, int64_t tokens_of_page) : page_tokens(tokens_of_page) {
    int64_t pages = 0;
    for (int64_t s = 0; s < segments.count(); ++s) {
      pages += ceil_div(segments.length(s), page_tokens);
    }
    // 7 steps at a time around a circle whose length is not a multiple of 7.
    const int64_t held = (pages + 3) % 7 == 0 ? pages + 4 : pages + 3;
    numbers = Guarded(DType::i32, segments.count(), ceil_div(segments.max_length(), page_tokens));
    int64_t next = 0;
    for (int64_t s = 0; s < segments.count(); ++s) {
      for (int64_t page = 0; page * page_tokens < segments.length(s); ++page) {
        numbers.set(s, page, static_cast<double>((next++ * 7 + 3) % held));
      }
    }
    rows = held * page_tokens;
  }

  PageTable table() const { return {numbers.view(), page_tokens}; }
};

// The same keys and values, scattered over pages; unused rows stay NaN.
struct PagedMemory {
  ShuffledPages pages;
  Guarded keys, values;

  PagedMemory(const AttentionCase& c, int64_t page_tokens, Layout layout = {}) : pages(c.key_segments, page_tokens) {
    const Segments& segments = c.key_segments;
    keys = Guarded(c.keys.type(), pages.rows, c.keys.columns(), layout);
    values = Guarded(c.values.type(), pages.rows, c.values.columns(), layout);
    const KeyValueView paged{keys.view(), values.view(), &segments, pages.table()};
    for (int64_t s = 0; s < segments.count(); ++s) {
      for (int64_t token = 0; token < segments.length(s); ++token) {
        for (int64_t column = 0; column < keys.columns(); ++column) {
          keys.set(paged.row(s, token), column, c.keys.get(segments.begin(s) + token, column));
        }
        for (int64_t column = 0; column < values.columns(); ++column) {
          values.set(paged.row(s, token), column, c.values.get(segments.begin(s) + token, column));
        }
      }
    }
  }
};

// The last `fresh[s]` tokens of each sequence are appended to a cache that holds those before.
struct AppendCase {
  AttentionCase whole;
  Segments fresh;
  int64_t page_tokens = 0;  // 0: end to end

  // Keys and values afterwards, one operand under the other.
  Guarded run(Backend& backend) const {
    const Segments& known = whole.key_segments;
    const ShuffledPages pages(known, std::max<int64_t>(1, page_tokens));
    const int64_t rows = page_tokens == 0 ? known.rows() : pages.rows;
    const Guarded cache(whole.keys.type(), 2 * rows, whole.keys.columns(), {3, 1});
    const KeyValueView memory{cache.rows(0, rows).view(), cache.rows(rows, rows).view(), &known,
                              page_tokens == 0 ? PageTable{} : pages.table()};
    const Guarded keys = fresh_rows(whole.keys), values = fresh_rows(whole.values);
    backend.append_key_values({keys.view(), values.view(), &fresh, memory});
    EXPECT_TRUE(cache.untouched());
    return cache;
  }

  Guarded fresh_rows(const Guarded& all) const {
    Guarded rows(all.type(), fresh.rows(), all.columns());
    for (int64_t s = 0; s < fresh.count(); ++s) {
      for (int64_t i = 0; i < fresh.length(s); ++i) {
        for (int64_t c = 0; c < all.columns(); ++c) {
          rows.set(fresh.begin(s) + i, c, all.get(whole.key_segments.end(s) - fresh.length(s) + i, c));
        }
      }
    }
    return rows;
  }
};

}  // namespace heed::test
