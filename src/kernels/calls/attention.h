// The calls of attention.
#pragma once

#include "kernels/calls/key_values.h"
#include "kernels/dropout.h"
#include "kernels/visibility.h"

namespace heed {

// A term of attention's scores by distance, which is the key's position less the query's:
//   S[query, key] += factor * table[row, clamp(distance - first, 0, distances - 1)]
// The row is that of the head, in a table [heads, distances] that all queries share; or the head's part of the row of
// the query, in a table [query rows, heads * distances].
enum class TableOf : uint8_t { head, query };
struct DistanceScores {
  ConstView table;  // master type; empty: no such term
  TableOf of = TableOf::head;
  int64_t distances = 0, first = 0;  // first: the distance of column 0
  double factor = 1.0;
};

// Attention's settings. Heads of queries share the key-value heads evenly, in order.
struct AttentionSettings {
  int64_t heads = 1, key_value_heads = 1;
  Visibility visibility;
  const AttentionMask* mask = nullptr;
  double scale = 1.0;  // usually 1 / sqrt(head width)
  // Above 0: cap * tanh(scale * Q K^T / cap) takes the place of scale * Q K^T. Not with a term by distance.
  double score_cap = 0.0;
  DistanceScores by_distance;
  // Draws from RowRandom(key, (first_row + query row) * drawn_heads() + first_drawn_head + head), where the query row
  // is counted in the matrix of queries; the column is the key's position in its sequence, divided by the stride.
  Dropout dropout;
  // Where the heads are some of those that a whole model has here: how many those are (0: these are all), and the
  // number of the first of these.
  int64_t heads_of_whole = 0, first_drawn_head = 0;

  uint64_t drawn_heads() const { return static_cast<uint64_t>(heads_of_whole > 0 ? heads_of_whole : heads); }
  // The row of draws of a head's query row.
  uint64_t draw_row(int64_t query_row, int64_t head) const {
    return (dropout.first_row + static_cast<uint64_t>(query_row)) * drawn_heads() +
           static_cast<uint64_t>(first_drawn_head + head);
  }
};

// For each sequence and head: P = softmax(S over the visible keys), S = scale * Q K^T, perhaps capped, or plus the term
// by distance; output = dropout(P) V, as wide as V's heads, which may differ from K's. A query that sees nothing gives
// zeros. No [queries, keys] matrix is stored. Backward rebuilds P from log_sum_exp (master type [rows, heads];
// -infinity where nothing is seen). `weights`, when requested: P before dropout, master type, one row: for each
// sequence, for each head, [queries, keys], end to end. `mass`, when requested, which needs a table by distance of
// queries, has that table's shape and type: the sum of dropout(P) over the keys at each clamped distance.
struct AttentionForward {
  AttentionSettings settings;
  ConstView queries;
  const Segments* segments = nullptr;  // of the queries
  ConstKeyValueView memory;
  View output, log_sum_exp, weights, mass;
};

// With D = rowsum(d_output * output):
//   d_values = dropout(P)^T d_output
//   d_P = dropout(d_output V^T + d_mass at the pair's distance)
//   d_S = P * (d_P - D), and with a cap, that times 1 - (S / cap)^2
//   d_queries = scale * d_S K    d_keys = scale * d_S^T Q
//   d_by_distance[row, d] = factor * the sum of d_S over the pairs of the row whose clamped distance is d
// Keys and values are stored end to end here (no pages). All gradients are overwritten. d_by_distance, master type, may
// be empty; where all queries share a table, it is [sequences * heads, distances]: each sequence's own sums. With
// d_mass, which may be empty, `output` includes the relative values that were added by the mass, so that D counts them.
struct AttentionBackward {
  AttentionSettings settings;
  ConstView queries;
  const Segments* segments = nullptr;
  ConstKeyValueView memory;
  ConstView output, log_sum_exp, d_output;
  ConstView d_mass;
  View d_queries, d_keys, d_values, d_by_distance;
};

// scores[h, d] = table[buckets[d], h]: a learned score of each bucket of distances, spread over the distances.
struct SpreadBuckets {
  ConstView table;    // master type [buckets, heads]
  ConstView buckets;  // i32 [1, distances]
  View scores;        // master type [heads, distances]
};

// Adds d_scores[h, d] to d_table[buckets[d], h], in the order of d.
struct SpreadBucketsBackward {
  ConstView buckets, d_scores;
  View d_table;
};

}  // namespace heed
