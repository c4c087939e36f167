#include "nn/attention.h"

#include <cmath>

#include "ops/relative_keys.h"

namespace heed {
namespace {

int64_t query_width(const AttentionShape& shape) { return shape.heads * shape.head_width; }
int64_t key_width(const AttentionShape& shape) { return shape.key_value_heads * shape.head_width; }

// Stacked projections are initialized as separate matrices. With grouped heads the parts differ in size; then the whole
// is initialized as one matrix.
Initialization stacked(const AttentionShape& shape, int64_t parts) {
  return shape.initialization.inner(shape.heads == shape.key_value_heads ? parts : 1);
}

// From all heads, concatenated, back to the model's width.
Linear::Options output_options(const AttentionShape& shape) {
  return {.inputs = query_width(shape),
          .outputs = shape.model,
          .bias = shape.output_bias,
          .initialization = shape.initialization.residual(),
          .op = {}};
}

template <class Call>
AttentionOptions options_of(const AttentionShape& shape, const DropoutSite& dropout, const Call& call) {
  return {shape.heads, shape.key_value_heads, shape.visibility, call.mask.get(), dropout, call.weights, {}};
}

const Weight* add_relative_keys(const Scope& scope, const AttentionShape& shape) {
  if (shape.relative_clip == 0) {
    return nullptr;
  }
  const int64_t directions = shape.visibility.parts().front().reach == Visibility::Reach::causal ? 1 : 2;
  return &scope.add("relative_keys", {directions * shape.relative_clip + 1, shape.head_width}, WeightUse::product,
                    shape.initialization.inner());
}

}  // namespace

SelfAttention::SelfAttention(const Scope& scope, const AttentionShape& shape)
    : shape_(shape),
      dropout_{scope.site("weights"), shape.dropout},
      projection_(scope / "projection", {.inputs = shape.model,
                                         .outputs = query_width(shape) + 2 * key_width(shape),
                                         .bias = shape.bias,
                                         .initialization = stacked(shape, 3),
                                         .op = {}}),
      relative_keys_(add_relative_keys(scope, shape)),
      output_(scope / "output", output_options(shape)) {}

RelativeScores SelfAttention::scores_by_distance(Pass& pass, const Columns& queries, const Segments& keys) const {
  if (shape_.relative != nullptr) {
    return shape_.relative->scores(pass, keys.max_length());
  }
  if (relative_keys_ == nullptr) {
    return {};
  }
  return {.table = relative_keys(pass, queries, *relative_keys_, Heads(shape_.heads)),
          .of = TableOf::query,
          .first = -shape_.relative_clip,
          .factor = 1.0 / std::sqrt(static_cast<double>(shape_.head_width)),
          .gradient = RelativeScores::Gradient::wanted};
}

Var SelfAttention::operator()(Pass& pass, const Var& x, const Sequences& sequences,
                              const SelfAttentionCall& call) const {
  const Var projected = projection_(pass, x);
  const int64_t queries = query_width(shape_);
  const int64_t keys = key_width(shape_);
  const AttentionInputs inputs{
      .queries = {projected, 0, queries},
      .query_segments = &sequences.segments(),
      .keys = {projected, queries, keys},
      .values = {projected, queries + keys, keys},
      .key_segments = &sequences.segments(),
  };
  if (shape_.rotary.dims > 0) {
    rotate(pass, inputs.queries, sequences.positions(), Heads(shape_.heads), shape_.rotary);
    rotate(pass, inputs.keys, sequences.positions(), Heads(shape_.key_value_heads), shape_.rotary);
  }
  AttentionOptions options = options_of(shape_, dropout_, call);
  options.relative =
      scores_by_distance(pass, inputs.queries, call.cache == nullptr ? sequences.segments() : *call.cache->segments);
  if (call.cache == nullptr) {
    return output_(pass, attention(pass, inputs, options));
  }
  append_key_values(pass, inputs, *call.cache);
  return output_(pass, attention(pass, inputs.queries, sequences.segments(), *call.cache, options));
}

CrossAttention::CrossAttention(const Scope& scope, const AttentionShape& shape)
    : shape_(shape),
      dropout_{scope.site("weights"), shape.dropout},
      query_(scope / "query", {.inputs = shape.model,
                               .outputs = query_width(shape),
                               .bias = shape.bias,
                               .initialization = shape.initialization.inner(),
                               .op = {}}),
      key_value_(scope / "key_value", {.inputs = shape.model,
                                       .outputs = 2 * key_width(shape),
                                       .bias = shape.bias,
                                       .initialization = shape.initialization.inner(2),
                                       .op = {}}),
      output_(scope / "output", output_options(shape)) {}

Var CrossAttention::operator()(Pass& pass, const Var& x, const Sequences& sequences, const Memory& memory,
                               const CrossAttentionCall& call) const {
  const Var projected = key_value_(pass, memory.hidden.var());
  const Var queries = query_(pass, x);
  const int64_t keys = key_width(shape_);
  const AttentionInputs inputs{
      .queries = Columns::all(queries),
      .query_segments = &sequences.segments(),
      .keys = {projected, 0, keys},
      .values = {projected, keys, keys},
      .key_segments = memory.segments,
  };
  return output_(pass, attention(pass, inputs, options_of(shape_, dropout_, call)));
}

void CrossAttention::cache_memory(Pass& pass, const Memory& memory, const KeyValueView& cache) const {
  const Var projected = key_value_(pass, memory.hidden.var());
  const int64_t keys = key_width(shape_);
  append_key_values(
      pass, {.keys = {projected, 0, keys}, .values = {projected, keys, keys}, .key_segments = memory.segments}, cache);
}

Var CrossAttention::operator()(Pass& pass, const Var& x, const CachedMemory& memory) const {
  const Columns queries = Columns::all(query_(pass, x));
  return output_(pass, attention(pass, queries, *memory.queries, *memory.keys_values,
                                 options_of(shape_, dropout_, CrossAttentionCall{})));
}

}  // namespace heed
