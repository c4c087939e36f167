// For each sequence and head, over the visible keys, with phi(x) = elu(x) + 1 or e^x:
//   n = sum of (phi(q) . phi(k)) v    z = sum of phi(q) . phi(k)    O = n / z
// Both sums are phi(q) times sums that grow from token to token, so that none is computed pair by pair beyond a chunk.
// With g = d_O / z and h = -(g . O):
//   d_phi(q) = sum of (g . v + h) phi(k)    d_phi(k) = sum over queries of (g . v + h) phi(q)
//   d_v = sum over queries of (phi(q) . phi(k)) g    d_x = d_phi(x) phi'(x)
// Saves Q, K, V, O and z. Neither a [queries, keys] matrix nor the sums of each token are stored.
#include "ops/attention/linear_attention.h"

#include <utility>

#include "ops/attention/attention_gradients.h"
#include "ops/tape.h"

namespace heed {
namespace {

struct LinearResult {
  Var output;
  Tensor divisors;
};

LinearAttentionSettings settings_of(const LinearAttentionOptions& options) {
  return {options.heads, options.key_value_heads, options.reach, options.feature};
}

void require_heads(const Columns& queries, const Segments& segments, const ConstKeyValueView& memory,
                   const LinearAttentionOptions& options) {
  require(options.heads > 0 && queries.count % options.heads == 0, "linear attention", "{} heads do not divide {}",
          options.heads, queries.value());
  require(options.key_value_heads > 0 && options.heads % options.key_value_heads == 0, "linear attention",
          "{} key-value heads do not divide {} heads", options.key_value_heads, options.heads);
  const int64_t width = queries.count / options.heads * options.key_value_heads;
  require(memory.keys.columns() == width && memory.values.columns() % options.key_value_heads == 0, "linear attention",
          "{} key-value heads against queries {} need {} columns, keys are {}, values {}", options.key_value_heads,
          queries.value(), width, memory.keys, memory.values);
  require(segments.rows() == queries.var.rows(), "linear attention", "segments of {} rows for queries {}",
          segments.rows(), queries.value());
  require(segments.count() == memory.segments->count(), "linear attention", "{} sequences of queries, {} of keys",
          segments.count(), memory.segments->count());
  require(memory.paged() || memory.segments->rows() == memory.keys.rows(), "linear attention",
          "segments of {} rows for keys {}", memory.segments->rows(), memory.keys);
  const int64_t size = LinearStates::size(options.key_value_heads, width / options.key_value_heads,
                                          memory.values.columns() / options.key_value_heads);
  require(memory.states.sums.empty() || memory.states.sums.columns() == size, "linear attention",
          "the cache has sums of {}, expected {} elements", memory.states.sums, size);
  require(options.weights == nullptr || memory.states.sums.empty(), "linear attention",
          "the cache has summed the keys, whose weights are no longer known");
}

LinearResult run_linear(Pass& pass, const Columns& queries, const Segments& segments, const ConstKeyValueView& memory,
                        const LinearAttentionOptions& options) {
  require_heads(queries, segments, memory, options);
  const int64_t columns = memory.values.columns() / options.key_value_heads * options.heads;
  LinearResult result{Var(pass.allocate({queries.var.rows(), columns}), queries.var.first_row()), Tensor()};
  if (pass.recording()) {
    result.divisors = pass.allocate_master({queries.var.rows(), options.heads});
  }
  if (options.weights != nullptr) {
    *options.weights =
        Tensor({attention_weight_count(segments, *memory.segments, options.heads)}, pass.backend().master_type());
  }
  pass.backend().linear_attention({
      .settings = settings_of(options),
      .queries = queries.value(),
      .segments = &segments,
      .memory = memory,
      .output = result.output.value(),
      .divisors = result.divisors.view(),
      .weights = options.weights == nullptr ? View() : options.weights->view(),
  });
  return result;
}

}  // namespace

Var linear_attention(Pass& pass, const AttentionInputs& inputs, const LinearAttentionOptions& options) {
  for (int64_t s = 0; s < inputs.query_segments->count() && s < inputs.key_segments->count(); ++s) {
    require(inputs.query_segments->length(s) == inputs.key_segments->length(s), "linear attention",
            "sequence {}: {} queries and {} keys, but it is self-attention alone", s, inputs.query_segments->length(s),
            inputs.key_segments->length(s));
  }
  const ConstKeyValueView memory{inputs.keys.value(), inputs.values.value(), inputs.key_segments, {}};
  LinearResult result = run_linear(pass, inputs.queries, *inputs.query_segments, memory, options);
  result.output.want_gradient_only_if(inputs.queries.var.wants_gradient() || inputs.keys.var.wants_gradient() ||
                                      inputs.values.var.wants_gradient());
  if (pass.recording() && result.output.wants_gradient()) {
    pass.tape().record(LinearAttentionOp{inputs, settings_of(options), result.output, std::move(result.divisors)});
  }
  return result.output;
}

Var linear_attention(Pass& pass, const Columns& queries, const Segments& segments, const ConstKeyValueView& memory,
                     const LinearAttentionOptions& options) {
  ensure(!pass.recording(), "linear attention", "a cache has no gradient");
  return run_linear(pass, queries, segments, memory, options).output;
}

void LinearAttentionOp::backward(Backend& backend) {
  if (output.gradient().empty()) {
    return;
  }
  const AttentionGradients gradients(backend, inputs);
  backend.linear_attention_backward({
      .settings = settings,
      .queries = inputs.queries.value(),
      .segments = inputs.query_segments,
      .memory = {inputs.keys.value(), inputs.values.value(), inputs.key_segments, {}},
      .output = output.value(),
      .divisors = divisors.view(),
      .d_output = output.gradient(),
      .d_queries = gradients.queries(),
      .d_keys = gradients.keys(),
      .d_values = gradients.values(),
  });
  gradients.finish();
}

}  // namespace heed
