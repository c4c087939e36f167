// P = softmax(S over the visible keys), S = scale * Q K^T + the term by distance, output = dropout(P) V, and its
// gradients.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/integer_rows.h"
#include "kernels/reference/reference_backend.h"
#include "kernels/reference/values.h"

namespace heed {
namespace {

using reference::Values;

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

// One sequence's queries and keys for one head: their rows, and the columns that belong to the head.
class Block {
 public:
  Block(const AttentionSettings& settings, const Segments& segments, const ConstKeyValueView& memory, int64_t sequence,
        int64_t head)
      : queries(segments.length(sequence)),
        keys(memory.segments->length(sequence)),
        settings_(settings),
        segments_(segments),
        memory_(memory),
        sequence_(sequence),
        head_(head) {}

  int64_t query_row(int64_t i) const { return segments_.begin(sequence_) + i; }
  int64_t key_row(int64_t j) const { return memory_.row(sequence_, j); }
  // Columns of the head in a matrix with rows of queries, and of the head of keys and values that it reads.
  int64_t query_columns(const Values& of_queries) const { return of_queries.columns() / settings_.heads; }
  int64_t query_column(const Values& of_queries, int64_t c) const { return head_ * query_columns(of_queries) + c; }
  int64_t key_column(const Values& of_keys, int64_t c) const {
    return head_ / (settings_.heads / settings_.key_value_heads) * (of_keys.columns() / settings_.key_value_heads) + c;
  }

  bool sees(int64_t i, int64_t j) const {
    return settings_.visibility.sees(keys - queries + i, j) &&
           (settings_.mask == nullptr || settings_.mask->sees(sequence_, i, j));
  }

  // Where tables by distance have the score of a pair.
  struct Entry {
    int64_t row, column;
  };
  Entry entry(int64_t i, int64_t j) const {
    const DistanceScores& scores = settings_.by_distance;
    const int64_t distance = j - (keys - queries + i);
    const int64_t column = std::clamp<int64_t>(distance - scores.first, 0, scores.distances - 1);
    return scores.of == TableOf::head ? Entry{head_, column} : Entry{query_row(i), head_ * scores.distances + column};
  }
  // In the gradient of a table of heads each sequence has rows of its own.
  int64_t gradient_row(const Entry& entry) const {
    return settings_.by_distance.of == TableOf::head ? sequence_ * settings_.heads + entry.row : entry.row;
  }

  double dropout_factor(int64_t i, int64_t j) const {
    const Dropout& dropout = settings_.dropout;
    if (!dropout.active()) {
      return 1.0;
    }
    return static_cast<double>(dropout.factor(RowRandom(dropout.key, settings_.draw_row(query_row(i), head_)),
                                              static_cast<uint32_t>(j / settings_.visibility.stride)));
  }

  // a[query i] . b[key j], over the head's columns.
  double dot(const Values& a, int64_t i, const Values& b, int64_t j) const {
    double sum = 0.0;
    for (int64_t c = 0; c < query_columns(a); ++c) {
      sum += a(query_row(i), query_column(a, c)) * b(key_row(j), key_column(b, c));
    }
    return sum;
  }

  // a[query i] += factor * b[key j], and b[key j] += factor * a[query i].
  void add_key_to_query(Values& a, int64_t i, double factor, const Values& b, int64_t j) const {
    for (int64_t c = 0; c < query_columns(a); ++c) {
      a(query_row(i), query_column(a, c)) += factor * b(key_row(j), key_column(b, c));
    }
  }
  void add_query_to_key(Values& b, int64_t j, double factor, const Values& a, int64_t i) const {
    for (int64_t c = 0; c < query_columns(a); ++c) {
      b(key_row(j), key_column(b, c)) += factor * a(query_row(i), query_column(a, c));
    }
  }

  const int64_t queries, keys;

 private:
  const AttentionSettings& settings_;
  const Segments& segments_;
  const ConstKeyValueView& memory_;
  int64_t sequence_, head_;
};

// What scores are computed from.
struct ScoreOperands {
  const AttentionSettings& settings;
  const Values &queries, &keys;
  Values by_distance = Values(settings.by_distance.table);
};

// scale * q.k, capped or with the term by distance, where the query sees the key, -infinity elsewhere.
double score(const Block& block, const ScoreOperands& from, int64_t i, int64_t j) {
  if (!block.sees(i, j)) {
    return kMinusInfinity;
  }
  double s = from.settings.scale * block.dot(from.queries, i, from.keys, j);
  if (from.settings.score_cap > 0.0) {
    s = from.settings.score_cap * std::tanh(s / from.settings.score_cap);
  }
  if (!from.by_distance.empty()) {
    const Block::Entry entry = block.entry(i, j);
    s += from.settings.by_distance.factor * from.by_distance(entry.row, entry.column);
  }
  return s;
}

double log_sum_exp_of(const std::vector<double>& scores) {
  double largest = kMinusInfinity;
  for (const double s : scores) {
    largest = std::max(largest, s);
  }
  if (largest == kMinusInfinity) {
    return kMinusInfinity;
  }
  double sum = 0.0;
  for (const double s : scores) {
    sum += std::exp(s - largest);
  }
  return largest + std::log(sum);
}

// A score's probability; 0 if the query sees no key.
double probability(double score, double log_sum_exp) {
  return score == kMinusInfinity ? 0.0 : std::exp(score - log_sum_exp);
}

// A row of a cache, in its type.
void append_row(const Values& from, int64_t from_row, const View& to, int64_t to_row, const View& scales) {
  if (scales.empty()) {
    for (int64_t c = 0; c < from.columns(); ++c) {
      reference::set(to, to_row, c, from(from_row, c));
    }
    return;
  }
  const int64_t width = from.columns() / scales.columns();
  std::vector<float> head(static_cast<size_t>(width));
  for (int64_t h = 0; h < scales.columns(); ++h) {
    for (int64_t c = 0; c < width; ++c) {
      head[static_cast<size_t>(c)] = static_cast<float>(from(from_row, h * width + c));
    }
    int8_t* const values = host<int8_t>(to).row(to_row) + h * width;
    host<float>(scales)(to_row, h) = quantize_row(head, {values, head.size()});
  }
}

// What the cache stands for.
Values cached(const ConstView& rows, const ConstView& scales) {
  Values values(rows);
  for (int64_t r = 0; !scales.empty() && r < values.rows(); ++r) {
    for (int64_t c = 0; c < values.columns(); ++c) {
      values(r, c) *= reference::get(scales, r, c / (values.columns() / scales.columns()));
    }
  }
  return values;
}

}  // namespace

void ReferenceBackend::append_key_values(const KeyValueAppend& call) {
  const Values keys(call.keys), values(call.values);
  const Segments& fresh = *call.segments;
  for (int64_t s = 0; s < fresh.count(); ++s) {
    const int64_t known = call.memory.segments->length(s) - fresh.length(s);
    for (int64_t token = 0; token < fresh.length(s); ++token) {
      const int64_t row = call.memory.row(s, known + token);
      append_row(keys, fresh.begin(s) + token, call.memory.keys, row, call.memory.scales.keys);
      append_row(values, fresh.begin(s) + token, call.memory.values, row, call.memory.scales.values);
    }
  }
}

void ReferenceBackend::attention(const AttentionForward& call) {
  const Values queries(call.queries), keys = cached(call.memory.keys, call.memory.scales.keys),
                                      values = cached(call.memory.values, call.memory.scales.values);
  const int64_t heads = call.settings.heads;
  const ScoreOperands operands{call.settings, queries, keys};
  Values output(queries.rows(), heads * values.columns() / call.settings.key_value_heads);
  Values log_sum_exp(queries.rows(), heads), mass(call.mass.rows(), call.mass.columns());
  int64_t next_weight = 0;
  for (int64_t sequence = 0; sequence < call.segments->count(); ++sequence) {
    for (int64_t head = 0; head < heads; ++head) {
      const Block block(call.settings, *call.segments, call.memory, sequence, head);
      std::vector<double> scores(static_cast<size_t>(block.keys));
      for (int64_t i = 0; i < block.queries; ++i) {
        for (int64_t j = 0; j < block.keys; ++j) {
          scores[static_cast<size_t>(j)] = score(block, operands, i, j);
        }
        const double lse = log_sum_exp_of(scores);
        for (int64_t j = 0; j < block.keys; ++j) {
          const double p = probability(scores[static_cast<size_t>(j)], lse);
          if (p > 0.0) {
            block.add_key_to_query(output, i, p * block.dropout_factor(i, j), values, j);
            if (!call.mass.empty()) {
              const Block::Entry entry = block.entry(i, j);
              mass(entry.row, entry.column) += p * block.dropout_factor(i, j);
            }
          }
          if (!call.weights.empty()) {
            reference::set(call.weights, 0, next_weight++, p);
          }
        }
        log_sum_exp(block.query_row(i), head) = lse;
      }
    }
  }
  reference::write(output, call.output);
  reference::write(log_sum_exp, call.log_sum_exp);
  reference::write(mass, call.mass);
}

void ReferenceBackend::attention_backward(const AttentionBackward& call) {
  const Values queries(call.queries), keys(call.memory.keys), values(call.memory.values);
  const Values output(call.output), log_sum_exp(call.log_sum_exp), d_output(call.d_output), d_mass(call.d_mass);
  const int64_t heads = call.settings.heads;
  const double scale = call.settings.scale;
  const ScoreOperands operands{call.settings, queries, keys};
  Values d_queries(queries.rows(), queries.columns());
  Values d_keys(keys.rows(), keys.columns()), d_values(values.rows(), values.columns());
  Values d_by_distance(call.d_by_distance.rows(), call.d_by_distance.columns());
  for (int64_t sequence = 0; sequence < call.segments->count(); ++sequence) {
    for (int64_t head = 0; head < heads; ++head) {
      const Block block(call.settings, *call.segments, call.memory, sequence, head);
      for (int64_t i = 0; i < block.queries; ++i) {
        double d = 0.0;  // D = rowsum(d_output * output)
        for (int64_t c = 0; c < block.query_columns(output); ++c) {
          const int64_t column = block.query_column(output, c);
          d += d_output(block.query_row(i), column) * output(block.query_row(i), column);
        }
        for (int64_t j = 0; j < block.keys; ++j) {
          if (!block.sees(i, j)) {
            continue;
          }
          const double s = score(block, operands, i, j);
          const double p = probability(s, log_sum_exp(block.query_row(i), head));
          const double factor = block.dropout_factor(i, j);
          double d_p = factor * block.dot(d_output, i, values, j);
          if (!d_mass.empty()) {
            const Block::Entry entry = block.entry(i, j);
            d_p += factor * d_mass(entry.row, entry.column);
          }
          const double cap = call.settings.score_cap;
          const double d_s = p * (d_p - d) * (cap > 0.0 ? 1.0 - s / cap * (s / cap) : 1.0);
          block.add_query_to_key(d_values, j, p * factor, d_output, i);
          block.add_key_to_query(d_queries, i, scale * d_s, keys, j);
          block.add_query_to_key(d_keys, j, scale * d_s, queries, i);
          if (!call.d_by_distance.empty()) {
            const Block::Entry entry = block.entry(i, j);
            d_by_distance(block.gradient_row(entry), entry.column) += call.settings.by_distance.factor * d_s;
          }
        }
      }
    }
  }
  reference::write(d_queries, call.d_queries);
  reference::write(d_keys, call.d_keys);
  reference::write(d_values, call.d_values);
  reference::write(d_by_distance, call.d_by_distance);
}

}  // namespace heed
