// output = sum of (phi(q) . phi(k)) v / sum of phi(q) . phi(k), over the visible keys, and its gradients, pair by pair.
#include <algorithm>
#include <cmath>

#include "kernels/reference/reference_backend.h"
#include "kernels/reference/values.h"

namespace heed {
namespace {

using reference::Values;

double feature(LinearFeature kind, double x) {
  if (kind == LinearFeature::exp) {
    return std::exp(std::clamp(x, -kMostExponent, kMostExponent));
  }
  return x > 0.0 ? x + 1.0 : std::max(std::exp(x), kLeastElu);
}
double feature_slope(LinearFeature kind, double x) {
  if (kind == LinearFeature::exp) {
    return std::abs(x) < kMostExponent ? std::exp(x) : 0.0;
  }
  return x > 0.0 ? 1.0 : std::exp(x) > kLeastElu ? std::exp(x) : 0.0;
}

// One sequence's queries and keys for one head. Value column `values` is the column of ones, which sums the divisor.
struct LinearBlock {
  LinearBlock(const LinearAttentionSettings& all, const Segments& query_segments, const ConstKeyValueView& keys_values,
              int64_t of_sequence, int64_t of_head)
      : sequence(of_sequence),
        head(of_head),
        key_head(of_head / (all.heads / all.key_value_heads)),
        queries(query_segments.length(of_sequence)),
        keys(keys_values.segments->length(of_sequence)),
        width(keys_values.keys.columns() / all.key_value_heads),
        values(keys_values.values.columns() / all.key_value_heads),
        settings(all),
        segments(query_segments),
        memory(keys_values) {}

  bool sees(int64_t i, int64_t j) const { return settings.reach == Visibility::Reach::full || j <= keys - queries + i; }
  int64_t query_row(int64_t i) const { return segments.begin(sequence) + i; }
  int64_t key_row(int64_t j) const { return memory.row(sequence, j); }
  int64_t summed() const { return memory.states.tokens_of(sequence); }

  double query(const Values& x, int64_t i, int64_t c) const { return x(query_row(i), head * width + c); }
  double key(const Values& x, int64_t j, int64_t c) const { return x(key_row(j), key_head * width + c); }
  double value(const Values& x, int64_t j, int64_t v) const {
    return v == values ? 1.0 : x(key_row(j), key_head * values + v);
  }
  double phi(double x) const { return feature(settings.feature, x); }
  double slope(double x) const { return feature_slope(settings.feature, x); }
  double score(const Values& q, const Values& k, int64_t i, int64_t j) const {
    double sum = 0.0;
    for (int64_t c = 0; c < width; ++c) {
      sum += phi(query(q, i, c)) * phi(key(k, j, c));
    }
    return sum;
  }
  // Where the sums of phi(k)[c] v[v] are kept.
  int64_t state_row() const { return host<int32_t>(memory.states.slots)(0, sequence); }
  int64_t state_column(int64_t c, int64_t v) const { return (key_head * width + c) * (values + 1) + v; }

  int64_t sequence, head, key_head, queries, keys, width, values;
  const LinearAttentionSettings& settings;
  const Segments& segments;
  const ConstKeyValueView& memory;
};

template <class Body>
void for_each_block(const LinearAttentionSettings& settings, const Segments& segments, const ConstKeyValueView& memory,
                    const Body& body) {
  for (int64_t sequence = 0; sequence < segments.count(); ++sequence) {
    for (int64_t head = 0; head < settings.heads; ++head) {
      body(LinearBlock(settings, segments, memory, sequence, head));
    }
  }
}

// The sums over the keys that query i sees: of each value column, and last the divisor.
std::vector<double> sums_of(const LinearBlock& block, const Values& q, const Values& k, const Values& v, int64_t i) {
  std::vector<double> sums(static_cast<size_t>(block.values) + 1, 0.0);
  for (int64_t column = 0; block.summed() > 0 && column <= block.values; ++column) {
    for (int64_t c = 0; c < block.width; ++c) {
      sums[static_cast<size_t>(column)] +=
          block.phi(block.query(q, i, c)) *
          reference::get(block.memory.states.sums, block.state_row(), block.state_column(c, column));
    }
  }
  for (int64_t j = block.summed(); j < block.keys; ++j) {
    const double score = block.sees(i, j) ? block.score(q, k, i, j) : 0.0;
    for (int64_t column = 0; column <= block.values; ++column) {
      sums[static_cast<size_t>(column)] += score * block.value(v, j, column);
    }
  }
  return sums;
}

}  // namespace

void ReferenceBackend::linear_attention(const LinearAttentionForward& call) {
  const Values q(call.queries), k(call.memory.keys), v(call.memory.values);
  Values output(q.rows(), call.output.columns()), divisors(q.rows(), call.settings.heads);
  int64_t next_weight = 0;
  for_each_block(call.settings, *call.segments, call.memory, [&](const LinearBlock& block) {
    for (int64_t i = 0; i < block.queries; ++i) {
      const std::vector<double> sums = sums_of(block, q, k, v, i);
      divisors(block.query_row(i), block.head) = sums.back();
      for (int64_t c = 0; c < block.values; ++c) {
        output(block.query_row(i), block.head * block.values + c) = sums[static_cast<size_t>(c)] / sums.back();
      }
      for (int64_t j = 0; !call.weights.empty() && j < block.keys; ++j) {
        reference::set(call.weights, 0, next_weight++, block.sees(i, j) ? block.score(q, k, i, j) / sums.back() : 0.0);
      }
    }
  });
  reference::write(output, call.output);
  reference::write(divisors, call.divisors);
}

void ReferenceBackend::linear_attention_backward(const LinearAttentionBackward& call) {
  const Values q(call.queries), k(call.memory.keys), v(call.memory.values);
  const Values output(call.output), divisors(call.divisors), d_output(call.d_output);
  Values d_q(q.rows(), q.columns()), d_k(k.rows(), k.columns()), d_v(v.rows(), v.columns());
  for_each_block(call.settings, *call.segments, call.memory, [&](const LinearBlock& block) {
    std::vector<double> g(static_cast<size_t>(block.values) + 1);  // the gradient of the query's sums
    for (int64_t i = 0; i < block.queries; ++i) {
      const int64_t row = block.query_row(i);
      g.back() = 0.0;
      for (int64_t c = 0; c < block.values; ++c) {
        const int64_t column = block.head * block.values + c;
        g[static_cast<size_t>(c)] = d_output(row, column) / divisors(row, block.head);
        g.back() -= g[static_cast<size_t>(c)] * output(row, column);
      }
      for (int64_t j = 0; j < block.keys; ++j) {
        if (!block.sees(i, j)) {
          continue;
        }
        const double score = block.score(q, k, i, j);
        double d_score = 0.0;
        for (int64_t c = 0; c <= block.values; ++c) {
          d_score += g[static_cast<size_t>(c)] * block.value(v, j, c);
        }
        for (int64_t c = 0; c < block.values; ++c) {
          d_v(block.key_row(j), block.key_head * block.values + c) += score * g[static_cast<size_t>(c)];
        }
        for (int64_t c = 0; c < block.width; ++c) {
          const double x = block.query(q, i, c), y = block.key(k, j, c);
          d_q(row, block.head * block.width + c) += d_score * block.phi(y) * block.slope(x);
          d_k(block.key_row(j), block.key_head * block.width + c) += d_score * block.phi(x) * block.slope(y);
        }
      }
    }
  });
  reference::write(d_q, call.d_queries);
  reference::write(d_k, call.d_keys);
  reference::write(d_v, call.d_values);
}

void ReferenceBackend::fold_linear_attention(const LinearAttentionFold& call) {
  const Values k(call.memory.keys), v(call.memory.values);
  const LinearAttentionSettings one_query{
      .heads = call.key_value_heads, .key_value_heads = call.key_value_heads, .feature = call.feature};
  for_each_block(one_query, *call.memory.segments, call.memory, [&](const LinearBlock& block) {
    const int64_t end = block.keys / kLinearChunk * kLinearChunk;
    for (int64_t c = 0; block.summed() < end && c < block.width; ++c) {
      for (int64_t column = 0; column <= block.values; ++column) {
        const int64_t at = block.state_column(c, column);
        double sum = block.summed() == 0 ? 0.0 : reference::get(call.memory.states.sums, block.state_row(), at);
        for (int64_t j = block.summed(); j < end; ++j) {
          sum += block.phi(block.key(k, j, c)) * block.value(v, j, column);
        }
        reference::set(call.memory.states.sums, block.state_row(), at, sum);
      }
    }
  });
}

}  // namespace heed
