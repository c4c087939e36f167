// Linear attention as the tests call it: ragged sequences, contiguous or paged keys and values, states.
#pragma once

#include <vector>

#include "kernels/attention_case.h"
#include "kernels/calls/linear_attention.h"

namespace heed::test {

struct LinearAttentionShape {
  std::vector<int64_t> lengths;
  int64_t heads = 2, key_value_heads = 2, key_width = 16, value_width = 16;
  Visibility::Reach reach = Visibility::Reach::causal;
  LinearFeature feature = LinearFeature::elu;
};

struct LinearAttentionCase {
  LinearAttentionSettings settings;
  Segments query_segments, key_segments;
  Guarded queries, keys, values, d_output;
  LinearStates states;
  int64_t value_width = 0;

  static LinearAttentionCase make(Types types, const LinearAttentionShape& shape) {
    LinearAttentionCase c{.settings = {shape.heads, shape.key_value_heads, shape.reach, shape.feature},
                          .query_segments = Segments(shape.lengths),
                          .key_segments = Segments(shape.lengths),
                          .value_width = shape.value_width};
    const int64_t rows = c.query_segments.rows();
    c.queries = random(types.storage, rows, shape.heads * shape.key_width, 50, 1.5);
    c.keys = random(types.storage, rows, shape.key_value_heads * shape.key_width, 51, 1.5, {9, 1});
    c.values = random(types.storage, rows, shape.key_value_heads * shape.value_width, 52, 1.0, {2, 6});
    c.d_output = random(types.storage, rows, shape.heads * shape.value_width, 53);
    return c;
  }

  KeyValueView memory() const { return {keys.view(), values.view(), &key_segments, {}, states}; }

  struct Result {
    Guarded output, divisors;
  };
  Result forward(Backend& backend, Types types, const Guarded& weights = {}) const {
    Result result{Guarded(types.storage, queries.rows(), settings.heads * value_width),
                  Guarded(types.master, queries.rows(), settings.heads)};
    backend.linear_attention({.settings = settings,
                              .queries = queries.view(),
                              .segments = &query_segments,
                              .memory = memory(),
                              .output = result.output.view(),
                              .divisors = result.divisors.view(),
                              .weights = weights.view()});
    return result;
  }
  Guarded weights(Backend& backend, Types types) const { return weights_of(*this, backend, types); }
  struct Gradients {
    Guarded d_queries, d_keys, d_values;
  };
  Gradients backward(Backend& backend, const Result& saved, Types types) const {
    Gradients d{Guarded(types.storage, queries.rows(), queries.columns()),
                Guarded(types.storage, keys.rows(), keys.columns()),
                Guarded(types.storage, values.rows(), values.columns())};
    backend.linear_attention_backward({.settings = settings,
                                       .queries = queries.view(),
                                       .segments = &query_segments,
                                       .memory = memory(),
                                       .output = saved.output.view(),
                                       .divisors = saved.divisors.view(),
                                       .d_output = d_output.view(),
                                       .d_queries = d.d_queries.view(),
                                       .d_keys = d.d_keys.view(),
                                       .d_values = d.d_values.view()});
    return d;
  }

  LinearAttentionCase sequence(int64_t s) const {
    LinearAttentionCase part = *this;
    const int64_t first = query_segments.begin(s), count = query_segments.length(s);
    part.query_segments = part.key_segments = Segments(std::vector<int64_t>{count});
    for (Guarded* rows : {&part.queries, &part.keys, &part.values, &part.d_output}) {
      *rows = rows->rows(first, count);
    }
    return part;
  }
  // For a single sequence: its queries [first, first + count), against the keys up to the last of them.
  LinearAttentionCase chunk(int64_t first, int64_t count) const {
    LinearAttentionCase part = *this;
    part.queries = queries.rows(first, count);
    part.keys = keys.rows(0, first + count);
    part.values = values.rows(0, first + count);
    part.query_segments = Segments(std::vector<int64_t>{count});
    part.key_segments = Segments(std::vector<int64_t>{first + count});
    return part;
  }
};

// The states of the sequences of a case, each in a slot of its own, in reverse order.
struct StatesOfCase {
  Guarded sums, slots, tokens;

  StatesOfCase(const LinearAttentionCase& c, DType type)
      : sums(type, c.key_segments.count(),
             LinearStates::size(c.settings.key_value_heads, c.keys.columns() / c.settings.key_value_heads,
                                c.value_width)) {
    std::vector<int64_t> order, none(static_cast<size_t>(c.key_segments.count()), 0);
    for (int64_t s = c.key_segments.count() - 1; s >= 0; --s) {
      order.push_back(s);
    }
    slots = integers(order);
    tokens = integers(none);
  }
  LinearStates view() const { return {sums.view(), slots.view(), tokens.view()}; }

  // All whole chunks of the case's tokens.
  void fold(Backend& backend, LinearAttentionCase c) const {
    c.states = view();
    backend.fold_linear_attention(
        {.key_value_heads = c.settings.key_value_heads, .feature = c.settings.feature, .memory = c.memory()});
    for (int64_t s = 0; s < c.key_segments.count(); ++s) {
      tokens.set(0, s, static_cast<double>(c.key_segments.length(s) / kLinearChunk * kLinearChunk));
    }
  }
};

}  // namespace heed::test
