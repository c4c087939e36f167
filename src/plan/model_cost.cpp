#include "plan/model_cost.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/rounding.h"
#include "kernels/linear_attention_cost.h"
#include "models/stacks.h"
#include "ops/loss/loss.h"
#include "plan/trace.h"

namespace heed {
namespace {

enum class Part : uint8_t { embeddings, attention, feed_forward, norms, output };
constexpr std::array kPartNames{"embeddings", "attention", "feed-forward", "norms", "output"};
constexpr int64_t kAlignment = 64;  // of an arena's blocks
constexpr DType kMaster = DType::f32;

int64_t block_bytes(int64_t elements, DType type) {
  return std::max(kAlignment, round_up(elements * size_of(type), kAlignment));
}

// A matrix of activations.
struct Value {
  size_t index;
  int64_t rows, columns;
};

// A residual stream and its normalized copy, which the next sublayer reads.
struct TracedStream {
  Value residual, normed;
};

// A number of sequences of one length.
struct Rows {
  int64_t sequences, length;
  int64_t count() const { return sequences * length; }
};

// Pairs of a query and a key that it sees, in one sequence, on average over the heads.
double visible_pairs(int64_t queries, int64_t keys, const VisibilityByHead& visibility) {
  double pairs = 0.0;
  for (const Visibility& part : visibility.parts()) {
    for (int64_t query = 0; query < queries; ++query) {
      pairs += static_cast<double>(part.count(keys - queries + query, keys));
    }
  }
  return pairs / static_cast<double>(visibility.count());
}

// Follows a model's forward pass and records the cost of each op. Layers, norms and names are those of nn/layers.h and
// models/stacks.h.
class Tracer {
 public:
  Tracer(const ModelConfig& config, DType storage) : config_(config), storage_(storage), ops_(&trace_.ops) {
    for (size_t part = 0; part < kPartNames.size(); ++part) {
      parts_[part].name = kPartNames[part];
    }
  }

  void seq2seq(const StageRanges& layers, const PlanBatch& batch) {
    const Rows source{batch.sequences, batch.source_length}, target{batch.sequences, batch.target_length};
    const Value memory =
        encoder(embedding(source, config_.source_vocabulary, Table::own), source, layers.encoder, Stack::encoder);
    const Table table = config_.tying == Tying::all ? Table::shared : Table::own;
    const Value decoded =
        decoder(embedding(target, config_.target_vocabulary, table), target, layers.decoder, memory, source);
    output_loss(decoded, config_.target_vocabulary);
  }

  void token_model(const Rows& rows, int64_t vocabulary, LayerRange layers, Stack stack) {
    const Value hidden = encoder(embedding(rows, vocabulary, Table::own), rows, layers, stack);
    part(Part::embeddings).parameters += config_.token_types * config_.model;
    output_loss(hidden, config_.head == Head::tokens ? vocabulary : config_.encoder_outputs());
  }

  ModelCost cost() const {
    ModelCost cost{.parts = {parts_.begin(), parts_.end()},
                   .activation_bytes = trace_.peak_bytes() + held_bytes_,
                   .kept_bytes = trace_.kept_bytes() + held_bytes_};
    for (const PlanPart& part : parts_) {
      cost.parameters += part.parameters;
      cost.forward_flops += part.forward_flops;
      cost.training_flops += part.training_flops;
    }
    return cost;
  }

 private:
  enum class Table : uint8_t { own, shared };

  PlanPart& part(Part which) { return parts_[static_cast<size_t>(which)]; }

  Value make(int64_t rows, int64_t columns) { return make(rows, columns, storage_); }
  Value make(int64_t rows, int64_t columns, DType type) {
    trace_.value_bytes.push_back(block_bytes(rows * columns, type));
    return {trace_.value_bytes.size() - 1, rows, columns};
  }

  void record(std::vector<size_t> inputs, std::vector<size_t> outputs, int64_t saved_bytes = 0) {
    ops_->push_back({std::move(inputs), std::move(outputs), saved_bytes, {}});
  }

  // Backward costs twice as much: a gradient for each of the two operands.
  void count_flops(Part which, double forward) {
    part(which).forward_flops += forward;
    part(which).training_flops += forward * (inside_recomputed_ ? 4.0 : 3.0);
  }

  Value embedding(const Rows& rows, int64_t vocabulary, Table table) {
    PlanPart& embeddings = part(Part::embeddings);
    embeddings.parameters += table == Table::own ? vocabulary * config_.model : 0;
    embeddings.parameters += config_.positions == Positions::learned ? config_.max_length * config_.model : 0;
    const Value y = make(rows.count(), config_.model);
    record({}, {y.index}, 2 * block_bytes(rows.count(), DType::i32));  // tokens and positions
    if (config_.embedding_norm == EmbeddingNorm::none) {
      return y;
    }
    part(Part::norms).parameters += config_.model * weights_of_norm();
    return norm(y);
  }

  Value linear(Part which, const Value& x, int64_t outputs, Bias bias, Activation activation = Activation::none) {
    part(which).parameters += outputs * x.columns + (bias == Bias::present ? outputs : 0);
    count_flops(which, 2.0 * static_cast<double>(x.rows) * static_cast<double>(x.columns * outputs));
    const Value y = make(x.rows, outputs);
    const bool keeps_before = activation != Activation::none && activation != Activation::relu;
    record({x.index}, {y.index}, keeps_before ? block_bytes(x.rows * outputs, storage_) : 0);
    return y;
  }

  void attention(const std::vector<Value>& inputs, const Value& output, const Rows& queries, const Rows& keys,
                 const VisibilityByHead& visibility) {
    const double pairs =
        static_cast<double>(queries.sequences) * visible_pairs(queries.length, keys.length, visibility);
    count_flops(Part::attention,
                2.0 * pairs * static_cast<double>(query_width() + mixed_width()));  // scores, and their weighted values
    std::vector<size_t> indices;
    indices.reserve(inputs.size());
    for (const Value& input : inputs) {
      indices.push_back(input.index);
    }
    record(indices, {output.index},
           block_bytes(queries.count() * config_.heads, kMaster));  // log-sum-exp of the scores
  }

  // The norm of `heads` heads of queries or keys, which are columns of `projected`.
  Value head_norm(const Value& projected, int64_t heads) {
    const bool each = config_.head_norm == HeadNorm::each_head;
    part(Part::norms).parameters += (each ? 1 : heads) * config_.width_of_head() * weights_of_norm();
    const Value normed = make(projected.rows, heads * config_.width_of_head());
    record({projected.index}, {normed.index}, block_bytes(2 * projected.rows * (each ? heads : 1), kMaster));
    return normed;
  }

  void attention(const std::vector<Value>& inputs, const Value& output, const Rows& rows, const LayerOptions& layer) {
    if (layer.kernel == AttentionKernel::softmax) {
      return attention(inputs, output, rows, rows, layer.visibility);
    }
    count_flops(Part::attention, static_cast<double>(rows.sequences * config_.heads) *
                                     linear_attention_flops(layer.visibility.parts().front().reach, rows.length,
                                                            config_.width_of_head(), config_.width_of_values()));
    std::vector<size_t> indices;
    indices.reserve(inputs.size());
    for (const Value& input : inputs) {
      indices.push_back(input.index);
    }
    record(std::move(indices), {output.index}, block_bytes(rows.count() * config_.heads, kMaster));  // divisors
  }

  Value self_attention(const Value& x, const Rows& rows, const LayerOptions& layer) {
    const Value projected = linear(Part::attention, x, query_width() + key_width(layer) + value_width(layer),
                                   config_.bias_of_attention_inputs());
    if (layer.rotary.dims > 0) {
      record({}, {}, 2 * block_bytes(rows.count(), DType::i32));  // in place; the positions, for queries and for keys
    }
    std::vector<Value> inputs{projected};
    if (config_.head_norm != HeadNorm::none) {
      inputs = {head_norm(projected, config_.heads), head_norm(projected, layer.key_value_heads), projected};
    }
    int64_t distances = 0;
    if (config_.positions == Positions::relative_bias) {
      const int64_t directions = layer.visibility.parts().front().reach == Visibility::Reach::causal ? 1 : 2;
      distances = directions * config_.relative_max_distance + 1;
      inputs.push_back(make(config_.heads, distances, kMaster));
      record({}, {inputs.back().index}, block_bytes(distances, DType::i32));  // the bucket of each distance
    }
    if (config_.has_relative_keys()) {
      inputs.push_back(relative_keys(inputs.front(), layer.visibility));
    }
    const Value mixed = make(rows.count(), mixed_width());
    attention(inputs, mixed, rows, layer);
    if (distances > 0) {  // the gradient of each sequence
      ops_->back().backward_transient_bytes = block_bytes(rows.sequences * config_.heads * distances, kMaster);
    }
    if (config_.has_relative_keys()) {
      ops_->back().backward_transient_bytes = block_bytes(inputs.back().rows * inputs.back().columns, kMaster);
    }
    if (config_.positions == Positions::relative_keys_values) {
      add_relative_values(inputs.back(), mixed);
    }
    return linear(Part::attention, mixed, config_.model, config_.bias_of_attention_output());
  }

  // Each head's queries against the embeddings of the distances.
  Value relative_keys(const Value& projected, const VisibilityByHead& visibility) {
    const int64_t directions = visibility.parts().front().reach == Visibility::Reach::causal ? 1 : 2;
    const int64_t distances = directions * config_.relative_clip + 1;
    part(Part::attention).parameters += distances * config_.width_of_head();
    count_flops(Part::attention,
                2.0 * static_cast<double>(projected.rows) * static_cast<double>(query_width() * distances));
    const Value scores = make(projected.rows, config_.heads * distances, kMaster);
    record({projected.index}, {scores.index});
    ops_->back().backward_transient_bytes = block_bytes(projected.rows * distances, storage_);
    return scores;
  }

  // To the op of attention, whose mass by distance has the shape of the scores by distance.
  void add_relative_values(const Value& scores, const Value& mixed) {
    const int64_t distances = scores.columns / config_.heads, mass = scores.rows * scores.columns;
    part(Part::attention).parameters += distances * config_.width_of_values();
    count_flops(Part::attention,
                2.0 * static_cast<double>(mixed.rows) * static_cast<double>(mixed.columns * distances));
    TracedOp& op = ops_->back();
    op.saved_bytes += block_bytes(mass, storage_);
    op.transient_bytes += block_bytes(mass, kMaster) + block_bytes(mixed.rows * config_.width_of_values(), kMaster);
    op.backward_transient_bytes += block_bytes(mass, kMaster);
  }

  Value cross_attention(const Value& x, const Rows& rows, const Value& projected, const Rows& source,
                        const LayerOptions& layer) {
    std::vector<Value> inputs{projected};
    if (config_.head_norm != HeadNorm::none) {
      inputs.push_back(head_norm(projected, layer.key_value_heads));
    }
    const Value queries = linear(Part::attention, x, query_width(), config_.bias_of_attention_inputs());
    inputs.push_back(config_.head_norm == HeadNorm::none ? queries : head_norm(queries, config_.heads));
    const Value mixed = make(rows.count(), mixed_width());
    attention(inputs, mixed, rows, source, Visibility::full());
    return linear(Part::attention, mixed, config_.model, config_.bias_of_attention_output());
  }

  Value feed_forward(const Value& x, int64_t inner) {
    const Bias bias = config_.bias_of_feed_forward();
    if (config_.gating == Gating::plain) {
      return linear(Part::feed_forward, linear(Part::feed_forward, x, inner, bias, config_.activation), config_.model,
                    bias);
    }
    const Value both = linear(Part::feed_forward, x, 2 * inner, bias);
    const Value gated = make(x.rows, inner);
    record({both.index}, {gated.index});
    return linear(Part::feed_forward, gated, config_.model, bias);
  }

  Value norm(const Value& x) {
    const Value normed = make(x.rows, x.columns);
    record({x.index}, {normed.index}, statistics_bytes(x));
    return normed;
  }

  static int64_t statistics_bytes(const Value& x) { return block_bytes(2 * x.rows, kMaster); }

  // What reads the sum of a residual connection.
  enum class After : uint8_t { norm, nothing };

  bool has_input_norms() const {
    return config_.placement == NormPlacement::pre || config_.placement == NormPlacement::sandwich;
  }
  bool has_branch_norms() const {
    return config_.placement == NormPlacement::sandwich || config_.placement == NormPlacement::branch;
  }

  TracedStream join(const TracedStream& stream, const Value& written, After after) {
    const Value branch = has_branch_norms() ? norm(written) : written;
    const Value sum = make(branch.rows, branch.columns);
    if (after == After::nothing) {
      record({stream.residual.index, branch.index}, {sum.index});
      return {sum, sum};
    }
    const Value normed = make(branch.rows, branch.columns);
    record({stream.residual.index, branch.index}, {sum.index, normed.index}, statistics_bytes(sum));
    return config_.placement == NormPlacement::post ? TracedStream{normed, normed} : TracedStream{sum, normed};
  }

  TracedStream enter(const Value& embedded) { return {embedded, has_input_norms() ? norm(embedded) : embedded}; }

  Value leave(const TracedStream& stream) {
    const bool pending = config_.final_norm == FinalNorm::present && config_.placement == NormPlacement::post;
    return pending ? norm(stream.normed) : stream.normed;
  }

  After after_sublayer() const { return config_.placement == NormPlacement::branch ? After::nothing : After::norm; }
  After after_last() const {
    return config_.placement == NormPlacement::post || config_.final_norm == FinalNorm::present ? After::norm
                                                                                                : After::nothing;
  }

  // One layer, with all its ops, or as one op that is recomputed.
  template <class Layer>
  TracedStream run_layer(const TracedStream& stream, std::optional<Value> memory, Layer layer) {
    if (config_.keep == Keep::activations) {
      return layer(stream);
    }
    TracedOp whole{{stream.residual.index}, {}, 0, {}};
    if (stream.normed.index != stream.residual.index) {
      whole.inputs.push_back(stream.normed.index);
    }
    if (memory) {
      whole.inputs.push_back(memory->index);
    }
    std::vector<TracedOp>* const outside = std::exchange(ops_, &whole.recomputed);
    inside_recomputed_ = true;
    const TracedStream out = layer(stream);
    inside_recomputed_ = false;
    ops_ = outside;
    whole.outputs = {out.residual.index};
    if (out.normed.index != out.residual.index) {
      whole.outputs.push_back(out.normed.index);
    }
    ops_->push_back(std::move(whole));
    return out;
  }

  Value encoder(const Value& embedded, const Rows& rows, LayerRange layers, Stack stack) {
    const std::vector<LayerOptions> options = options_of_layers(config_, stack);
    count_relative_bias();
    count_norms((config_.branches == Branches::parallel ? 1 : 2) * count_of(layers));
    TracedStream stream = enter(embedded);
    for (size_t i = layers.first; i < layers.end; ++i) {
      const After after = i + 1 < layers.end ? after_sublayer() : after_last();
      stream = run_layer(stream, std::nullopt,
                         [&](const TracedStream& s) { return self_attention_layer(s, rows, options[i], after); });
    }
    return leave(stream);
  }

  TracedStream self_attention_layer(TracedStream s, const Rows& rows, const LayerOptions& layer, After after) {
    if (config_.branches == Branches::sequential) {
      s = join(s, self_attention(s.normed, rows, layer), after_sublayer());
      return join(s, feed_forward(s.normed, layer.inner), after);
    }
    const Value read = config_.branches == Branches::parallel_own_norms ? norm(s.residual) : s.normed;
    s = join(s, self_attention(s.normed, rows, layer), After::nothing);
    return join(s, feed_forward(read, layer.inner), after);
  }

  Value decoder(const Value& embedded, const Rows& rows, LayerRange layers, const Value& memory, const Rows& source) {
    const std::vector<LayerOptions> options = options_of_layers(config_, Stack::decoder);
    count_relative_bias();
    count_norms(3 * count_of(layers));
    TracedStream stream = enter(embedded);
    for (size_t i = layers.first; i < layers.end; ++i) {
      const After after = i + 1 < layers.end ? after_sublayer() : after_last();
      stream = run_layer(stream, memory, [&](TracedStream s) {
        const LayerOptions& layer = options[i];
        const Value projected =
            linear(Part::attention, memory, key_width(layer) + value_width(layer), config_.bias_of_attention_inputs());
        s = join(s, self_attention(s.normed, rows, layer), after_sublayer());
        s = join(s, cross_attention(s.normed, rows, projected, source, layer), after_sublayer());
        return join(s, feed_forward(s.normed, layer.inner), after);
      });
    }
    return leave(stream);
  }

  static int64_t count_of(LayerRange layers) { return static_cast<int64_t>(layers.end - layers.first); }

  // One table for all layers of a stack.
  void count_relative_bias() {
    part(Part::attention).parameters +=
        config_.positions == Positions::relative_bias ? config_.relative_buckets * config_.heads : 0;
  }

  void count_norms(int64_t sublayers) {
    const int64_t norms = sublayers * (has_input_norms() && has_branch_norms() ? 2 : 1) +
                          (config_.final_norm == FinalNorm::present ? 1 : 0);
    part(Part::norms).parameters += norms * config_.model * weights_of_norm();
  }

  // Of a column.
  int64_t weights_of_norm() const {
    return config_.norm == NormKind::layer && config_.bias_of_norms() == Bias::present ? 2 : 1;
  }

  void output_loss(const Value& hidden, int64_t vocabulary) {
    PlanPart& output = part(Part::output);
    output.parameters += config_.tying == Tying::none ? vocabulary * hidden.columns : 0;
    output.parameters += config_.output_bias == Bias::present ? vocabulary : 0;
    count_flops(Part::output,
                2.0 * static_cast<double>(hidden.rows) * static_cast<double>(hidden.columns * vocabulary));
    const int64_t block_rows = rows_of_loss_block({hidden.rows, vocabulary}, storage_);
    ops_->push_back({.inputs = {hidden.index},
                     .transient_bytes = block_bytes(hidden.rows, DType::i32) +           // targets
                                        block_bytes(block_rows * vocabulary, storage_),  // the gradient of logits
                     .gradients_begin = GradientsBegin::in_forward});
    held_bytes_ += block_bytes(2 * hidden.rows, kMaster);  // losses, with and without smoothing
  }

  int64_t query_width() const { return config_.heads * config_.width_of_head(); }
  int64_t key_width(const LayerOptions& layer) const { return layer.key_value_heads * config_.width_of_head(); }
  int64_t value_width(const LayerOptions& layer) const { return layer.key_value_heads * config_.width_of_values(); }
  int64_t mixed_width() const { return config_.heads * config_.width_of_values(); }  // values, of all heads of queries

  const ModelConfig& config_;
  DType storage_;
  std::array<PlanPart, kPartNames.size()> parts_;
  Trace trace_;
  std::vector<TracedOp>* ops_;  // where ops are recorded: the step's, or those of a layer that is recomputed
  bool inside_recomputed_ = false;
  int64_t held_bytes_ = 0;  // until the end of the step
};

}  // namespace

ModelCost cost_of(const ModelConfig& config, const PlanBatch& batch, DType storage) {
  const auto all = [&](Stack stack) { return LayerRange{0, static_cast<size_t>(config.layers_of(stack))}; };
  return cost_of(config, {all(Stack::encoder), all(Stack::decoder)}, batch, storage);
}

ModelCost cost_of(const ModelConfig& config, const StageRanges& layers, const PlanBatch& batch, DType storage) {
  Tracer tracer(config, storage);
  switch (config.architecture) {
    case Architecture::seq2seq:
      tracer.seq2seq(layers, batch);
      break;
    case Architecture::causal_lm:
      tracer.token_model({batch.sequences, batch.target_length}, config.target_vocabulary, layers.decoder,
                         Stack::decoder);
      break;
    case Architecture::encoder:
      tracer.token_model({batch.sequences, batch.source_length}, config.source_vocabulary, layers.encoder,
                         Stack::encoder);
      break;
  }
  return tracer.cost();
}

// The layers' blocks in a page are as wide as the widest of them.
int64_t cache_bytes_per_token(const ModelConfig& config, DType storage) {
  const int64_t widest = std::max(config.width_of_head(), config.width_of_values());
  return 2 * config.decoder_layers * config.most_heads_of_keys(config.decoder_layers) * widest * size_of(storage);
}

int64_t full_cache_bytes(const ModelConfig& config, DType storage) {
  const int64_t window = config.cached_window();
  const int64_t tokens = window == 0 ? config.max_length : std::min(config.max_length, window);
  const int64_t sums = LinearStates::size(config.most_heads_of_keys(config.decoder_layers), config.width_of_head(),
                                          config.width_of_values());
  return cache_bytes_per_token(config, storage) * tokens +
         static_cast<int64_t>(config.linear_layers_of_decoder().size()) * sums * size_of(kMaster);
}

}  // namespace heed
