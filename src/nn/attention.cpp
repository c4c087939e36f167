#include "nn/attention.h"

#include <algorithm>
#include <cmath>

#include "ops/attention/relative_embeddings.h"

namespace heed {
namespace {

// Some neighbouring columns.
struct ColumnRange {
  int64_t first = 0, count = 0;
};

int64_t query_width(const AttentionShape& shape) { return shape.heads * shape.head_width; }
int64_t key_width(const AttentionShape& shape) { return shape.key_value_heads * shape.head_width; }
int64_t value_head_width(const AttentionShape& shape) {
  return shape.value_width > 0 ? shape.value_width : shape.head_width;
}
int64_t value_width(const AttentionShape& shape) { return shape.key_value_heads * value_head_width(shape); }

// Stacked projections are initialized as separate matrices. With grouped heads, or values of another width, the parts
// differ in size; then the whole is initialized as one matrix.
Initialization stacked_self(const AttentionShape& shape) {
  return shape.initialization.inner(
      query_width(shape) == key_width(shape) && key_width(shape) == value_width(shape) ? 3 : 1);
}
Initialization stacked_cross(const AttentionShape& shape) {
  return shape.initialization.inner(key_width(shape) == value_width(shape) ? 2 : 1);
}

// What this rank's heads compute.
AttentionShape own_shape(const Scope& scope, AttentionShape shape) {
  shape.heads = scope.parts().share(shape.heads).count;
  shape.key_value_heads = scope.parts().share(shape.key_value_heads).count;
  return shape;
}

HeadRange own_heads(const Scope& scope, const AttentionShape& shape) {
  return {.first = scope.parts().share(shape.heads).first, .of = shape.heads};
}

// From all heads, concatenated, back to the model's width.
Linear::Options output_options(const AttentionShape& shape) {
  return {.inputs = shape.heads * value_head_width(shape),
          .outputs = shape.model,
          .bias = shape.output_bias,
          .initialization = shape.initialization.residual(),
          .op = {},
          .divided = Divided::inputs,
          .roles = {{WeightRole::attention_output}}};
}

template <class Call>
AttentionOptions options_of(const AttentionShape& shape, const HeadRange& range, const DropoutSite& dropout,
                            const Call& call) {
  return {.heads = shape.heads,
          .key_value_heads = shape.key_value_heads,
          .scale = shape.scale,
          .range = range,
          .visibility = shape.visibility,
          .mask = call.mask.get(),
          .dropout = dropout,
          .weights = call.weights,
          .relative = {},
          .cap = shape.score_cap};
}

int64_t distances_of(const AttentionShape& shape) {
  const int64_t directions = shape.visibility.parts().front().reach == Visibility::Reach::causal ? 1 : 2;
  return directions * shape.relative_clip + 1;
}

const Weight* add_relative_keys(const Scope& scope, const AttentionShape& shape) {
  return shape.relative_clip == 0
             ? nullptr
             : &scope.add("relative_keys", WeightRole::relative_keys, {distances_of(shape), shape.head_width},
                          WeightUse::product, shape.initialization.inner(), Division::shared_by_heads());
}

const Weight* add_relative_values(const Scope& scope, const AttentionShape& shape) {
  return shape.relative_clip == 0 || shape.relative_values == RelativeValues::none
             ? nullptr
             : &scope.add("relative_values", WeightRole::relative_values,
                          {value_head_width(shape), distances_of(shape)}, WeightUse::product,
                          shape.initialization.inner(), Division::shared_by_heads());
}

std::optional<ValueEmbedding> value_embedding(const Scope& scope, const AttentionShape& shape) {
  return shape.value_table == nullptr ? std::nullopt
                                      : std::optional<ValueEmbedding>(std::in_place, scope / "value_embedding_norm",
                                                                      *shape.value_table, shape.norm);
}

// The values of one head, and zeros for the others, so that a projection of all heads gives what this head adds.
template <class T>
void copy_head(const ConstView& values, const View& heads, int64_t from, const ColumnRange& to) {
  const HostView<const T> read = host<T>(values);
  const HostView<T> write = host<T>(heads);
  for (int64_t row = 0; row < write.rows; ++row) {
    std::fill_n(write.row(row), write.columns, T(0.0F));
    std::copy_n(read.row(row) + from, to.count, write.row(row) + to.first);
  }
}

template <class T>
void add_norms(const Var& projected, const Var& bias, float* norms) {
  const HostView<const T> rows = host<T>(ConstView(projected.value())), nothing = host<T>(ConstView(bias.value()));
  for (int64_t row = 0; row < rows.rows; ++row) {
    double sum = 0.0;
    for (int64_t column = 0; column < rows.columns; ++column) {
      const double x = static_cast<double>(static_cast<float>(rows(row, column))) -
                       static_cast<double>(static_cast<float>(nothing(0, column)));
      sum += x * x;
    }
    norms[row] = static_cast<float>(std::sqrt(sum));
  }
}

// |v W_O^T|, [heads, keys]. What the projection makes of zeros is its bias.
Tensor norms_of_values(Pass& pass, const Columns& values, const AttentionShape& shape, const Linear& output) {
  if (values.value().device() != Device::cpu) {
    return {};
  }
  const int64_t rows = values.var.rows(), width = value_head_width(shape);
  const bool is_short = values.var.type() == DType::bf16;
  const auto project = [&](int64_t count, const ColumnRange& from, const ColumnRange& to) {
    Tensor heads = pass.allocate({count, shape.heads * width}, values.var.type());
    (is_short ? copy_head<bf16> : copy_head<float>)(values.value(), heads.view(), from.first, to);
    return output(pass, Var(std::move(heads), values.var.first_row()));
  };
  const Var bias = project(1, {}, {});
  Tensor norms({shape.heads, rows}, DType::f32);
  for (int64_t head = 0; head < shape.heads; ++head) {
    const int64_t group = head / (shape.heads / shape.key_value_heads);
    const Var projected = project(rows, {group * width, width}, {head * width, width});
    (is_short ? add_norms<bf16> : add_norms<float>)(projected, bias, norms.data<float>() + head * rows);
  }
  return norms;
}

}  // namespace

QueryKeyNorm::QueryKeyNorm(const Scope& scope, WeightRole role, const AttentionShape& shape, Heads heads)
    : groups_{shape.head_norm == HeadNorm::all_heads ? 1 : heads.value} {
  if (shape.head_norm != HeadNorm::none) {
    NormShape norm = shape.norm;
    const bool own_gains = shape.head_norm == HeadNorm::own_gains;
    norm.width = own_gains ? heads.value * shape.head_width : heads.value * shape.head_width / groups_.count;
    norm.bias = own_gains ? Bias::none : norm.bias;
    norm_.emplace(scope, role, norm, Division::shared_by_heads());
  }
}

Columns QueryKeyNorm::operator()(Pass& pass, const Columns& x) const {
  return norm_ ? Columns::all(head_norm(pass, x, groups_, norm_->weights())) : x;
}

SelfAttention::SelfAttention(const Scope& scope, const AttentionShape& shape)
    : parts_(&scope.parts()),
      shape_(own_shape(scope, shape)),
      heads_(own_heads(scope, shape)),
      dropout_{scope.site("weights"), shape.dropout},
      projection_(scope / "projection", {.inputs = shape.model,
                                         .outputs = query_width(shape) + key_width(shape) + value_width(shape),
                                         .bias = shape.bias,
                                         .initialization = stacked_self(shape),
                                         .op = {},
                                         .divided = Divided::outputs,
                                         .roles = {{WeightRole::query, query_width(shape)},
                                                   {WeightRole::key, key_width(shape)},
                                                   {WeightRole::value, value_width(shape)}}}),
      relative_keys_(add_relative_keys(scope, shape)),
      relative_values_(add_relative_values(scope, shape)),
      query_norm_(scope / "query_norm", WeightRole::query_norm, shape, Heads(shape_.heads)),
      key_norm_(scope / "key_norm", WeightRole::key_norm, shape, Heads(shape_.key_value_heads)),
      value_embedding_(value_embedding(scope, shape)),
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
          .factor = shape_.scale > 0.0 ? shape_.scale : 1.0 / std::sqrt(static_cast<double>(shape_.head_width)),
          .gradient = RelativeScores::Gradient::wanted};
}

Var SelfAttention::operator()(Pass& pass, const Var& x, const Sequences& sequences,
                              const SelfAttentionCall& call) const {
  const Var projected = projection_(pass, to_parts(pass, x, *parts_));
  const int64_t queries = query_width(shape_);
  const int64_t keys = key_width(shape_);
  const AttentionInputs inputs{
      .queries = query_norm_(pass, {projected, 0, queries}),
      .query_segments = &sequences.segments(),
      .keys = key_norm_(pass, {projected, queries, keys}),
      .values = {projected, queries + keys, value_width(shape_)},
      .key_segments = &sequences.segments(),
  };
  if (value_embedding_) {
    value_embedding_->add_to(pass, inputs.values, sequences);
  }
  if (call.value_norms != nullptr) {
    *call.value_norms = norms_of_values(pass, inputs.values, shape_, output_);
  }
  if (shape_.rotary.dims > 0) {
    rotate(pass, inputs.queries, sequences.positions(), Heads(shape_.heads), shape_.rotary);
    rotate(pass, inputs.keys, sequences.positions(), Heads(shape_.key_value_heads), shape_.rotary);
  }
  if (shape_.kernel == AttentionKernel::linear) {
    return output_(pass, mix_linearly(pass, inputs, sequences, call));
  }
  AttentionOptions options = options_of(shape_, heads_, dropout_, call);
  options.relative =
      scores_by_distance(pass, inputs.queries, call.cache == nullptr ? sequences.segments() : *call.cache->segments);
  options.relative_values = relative_values_;
  if (call.cache == nullptr) {
    return output_(pass, attention(pass, inputs, options));
  }
  append_key_values(pass, inputs, *call.cache);
  return output_(pass, attention(pass, inputs.queries, sequences.segments(), *call.cache, options));
}

Var SelfAttention::mix_linearly(Pass& pass, const AttentionInputs& inputs, const Sequences& sequences,
                                const SelfAttentionCall& call) const {
  require(call.mask.get() == nullptr, "linear attention",
          "a mask hides pairs of tokens, but linear attention forms no pairs");
  const LinearAttentionOptions options{shape_.heads, shape_.key_value_heads, shape_.visibility.parts().front().reach,
                                       shape_.linear_feature, call.weights};
  if (call.cache == nullptr) {
    return linear_attention(pass, inputs, options);
  }
  append_key_values(pass, inputs, *call.cache);
  return linear_attention(pass, inputs.queries, sequences.segments(), *call.cache, options);
}

CrossAttention::CrossAttention(const Scope& scope, const AttentionShape& shape)
    : parts_(&scope.parts()),
      shape_(own_shape(scope, shape)),
      heads_(own_heads(scope, shape)),
      dropout_{scope.site("weights"), shape.dropout},
      query_(scope / "query", {.inputs = shape.model,
                               .outputs = query_width(shape),
                               .bias = shape.bias,
                               .initialization = shape.initialization.inner(),
                               .op = {},
                               .divided = Divided::outputs,
                               .roles = {{WeightRole::query}}}),
      key_value_(scope / "key_value",
                 {.inputs = shape.model,
                  .outputs = key_width(shape) + value_width(shape),
                  .bias = shape.bias,
                  .initialization = stacked_cross(shape),
                  .op = {},
                  .divided = Divided::outputs,
                  .roles = {{WeightRole::key, key_width(shape)}, {WeightRole::value, value_width(shape)}}}),
      query_norm_(scope / "query_norm", WeightRole::query_norm, shape, Heads(shape_.heads)),
      key_norm_(scope / "key_norm", WeightRole::key_norm, shape, Heads(shape_.key_value_heads)),
      output_(scope / "output", output_options(shape)) {}

AttentionInputs CrossAttention::keys_and_values(Pass& pass, const Memory& memory) const {
  const Var projected = key_value_(pass, memory.hidden.var());
  const int64_t keys = key_width(shape_);
  return {.keys = key_norm_(pass, {projected, 0, keys}),
          .values = {projected, keys, value_width(shape_)},
          .key_segments = memory.segments};
}

Var CrossAttention::operator()(Pass& pass, const Var& x, const Sequences& sequences, const Memory& memory,
                               const CrossAttentionCall& call) const {
  AttentionInputs inputs = keys_and_values(pass, memory);
  inputs.queries = query_norm_(pass, Columns::all(query_(pass, to_parts(pass, x, *parts_))));
  inputs.query_segments = &sequences.segments();
  if (call.value_norms != nullptr) {
    *call.value_norms = norms_of_values(pass, inputs.values, shape_, output_);
  }
  return output_(pass, attention(pass, inputs, options_of(shape_, heads_, dropout_, call)));
}

void CrossAttention::cache_memory(Pass& pass, const Memory& memory, const KeyValueView& cache) const {
  append_key_values(pass, keys_and_values(pass, memory), cache);
}

Var CrossAttention::operator()(Pass& pass, const Var& x, const CachedMemory& memory) const {
  const Columns queries = query_norm_(pass, Columns::all(query_(pass, x)));
  return output_(pass, attention(pass, queries, *memory.queries, *memory.keys_values,
                                 options_of(shape_, heads_, dropout_, CrossAttentionCall{})));
}

}  // namespace heed
