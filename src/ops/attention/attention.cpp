// For each sequence and head, over the visible keys:
//   S = scale Q K^T + B    P = softmax(S) = exp(S - lse)    lse = log(sum over keys of exp(S))    O = dropout(P) V
// With M the dropout factors and D = the sum over a row of d_O * O:
//   d_V = (P * M)^T d_O    d_P = (d_O V^T) * M    d_S = P * (d_P - D)    d_Q = scale d_S K    d_K = scale d_S^T Q
// B is the term by distance, if there is one: factor * table, at each pair's head, or query, and distance;
//   d_table = factor * the sum of d_S over the pairs that read an entry
// With relative values, dropout(P) (V + their embeddings) takes the place of dropout(P) V: relative_embeddings.cpp says
//   how that follows from the mass of dropout(P) at each distance, and what adds to d_O V^T in d_P
// With a cap there is no B: S = cap tanh(scale Q K^T / cap), and d_S (1 - (S / cap)^2) takes the place of d_S above.
// D stands for the sum over a row of P * d_P, to which it is equal. Saves Q, K, V, O, lse and the mass; backward
// rebuilds P from S and lse. No [queries, keys] matrix is stored.
#include "ops/attention/attention.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "ops/attention/attention_gradients.h"
#include "ops/attention/relative_embeddings.h"
#include "ops/tape.h"

namespace heed {
namespace {

DistanceScores by_distance(const AttentionOptions& options, int64_t query_rows) {
  const RelativeScores& relative = options.relative;
  if (relative.table.empty()) {
    return {};
  }
  const bool of_heads = relative.of == TableOf::head;
  const int64_t distances = relative.table.columns() / (of_heads ? 1 : options.heads);
  require(relative.table.rows() == (of_heads ? options.heads : query_rows) && distances > 0 &&
              relative.table.columns() == (of_heads ? distances : distances * options.heads),
          "attention", "relative positions: the scores are {}, which does not fit {} heads and {} queries",
          relative.table.value(), options.heads, query_rows);
  return {relative.table.value(), relative.of, distances, relative.first, relative.factor};
}

// The patterns of visibility that the call's heads have: `count` neighbours of the whole's, of `heads` heads each in
// the whole, of which the call's begin at `first_head` of the first pattern.
struct OwnPatterns {
  int64_t first = 0, count = 1, heads = 0, first_head = 0;
};

OwnPatterns own_patterns(const AttentionOptions& options) {
  const HeadRange& range = options.range;
  const int64_t patterns = options.visibility.count();
  if (range.of == 0) {
    return {0, patterns, options.heads / patterns, 0};
  }
  require(range.of % patterns == 0, "attention", "{} patterns do not divide {} heads", patterns, range.of);
  const int64_t heads = range.of / patterns;
  const OwnPatterns own{range.first / heads, std::max<int64_t>(1, options.heads / heads), heads, range.first % heads};
  require(own.count * heads == options.heads ? own.first_head == 0 : own.first_head + options.heads <= heads,
          "attention", "heads {} to {} of {} are not whole patterns of {} heads", range.first,
          range.first + options.heads - 1, range.of, heads);
  return own;
}

// The settings of each part of the heads.
std::vector<AttentionSettings> parts_of(Pass& pass, const Columns& queries, const AttentionOptions& options) {
  require(options.heads > 0 && queries.count % options.heads == 0, "attention", "{} heads do not divide {}",
          options.heads, queries.value());
  require(options.key_value_heads > 0 && options.heads % options.key_value_heads == 0, "attention",
          "{} key-value heads do not divide {} heads", options.key_value_heads, options.heads);
  const OwnPatterns own = own_patterns(options);
  const int64_t count = own.count;
  require(options.key_value_heads % count == 0, "attention", "{} patterns do not divide {} key-value heads", count,
          options.key_value_heads);
  const int64_t head_width = queries.count / options.heads;
  const Dropout dropout = pass.dropout(options.dropout, queries.var.first_row());
  const DistanceScores scores = by_distance(options, queries.var.rows());
  std::vector<AttentionSettings> parts;
  for (int64_t pattern = own.first; pattern < own.first + count; ++pattern) {
    const Visibility& visibility = options.visibility.parts()[static_cast<size_t>(pattern)];
    require(scores.table.empty() || (count == 1 && visibility.stride == 1), "attention",
            "relative positions need one visibility for all heads, without a stride");
    require(scores.table.empty() || !options.cap.active(), "attention",
            "relative positions cannot be combined with a cap on the scores");
    AttentionSettings& part = parts.emplace_back(AttentionSettings{
        .heads = options.heads / count,
        .key_value_heads = options.key_value_heads / count,
        .visibility = visibility,
        .mask = options.mask,
        .scale = options.scale > 0.0 ? options.scale : 1.0 / std::sqrt(static_cast<double>(head_width)),
        .score_cap = options.cap.value,
        .by_distance = scores,
        .dropout = dropout,
        .heads_of_whole = own.heads,
        .first_drawn_head = own.first_head,
    });
    if (options.visibility.count() > 1) {
      part.dropout.key = dropout.key.derive(static_cast<uint64_t>(pattern) + 1);  // patterns number their heads alike
    }
  }
  return parts;
}

// The columns of one of `count` parts of the heads.
template <class AnyView>
AnyView part_of(const AnyView& all, size_t part, size_t count) {
  const int64_t columns = all.columns() / static_cast<int64_t>(count);
  return all.empty() ? all : all.column_range(static_cast<int64_t>(part) * columns, columns);
}
ConstKeyValueView part_of(ConstKeyValueView memory, size_t part, size_t count) {
  memory.keys = part_of(memory.keys, part, count);
  memory.values = part_of(memory.values, part, count);
  memory.scales = {part_of(memory.scales.keys, part, count), part_of(memory.scales.values, part, count)};
  return memory;
}

// A mask can only hide more. Where it shows a sequence some keys, but the pattern hides all of them from all queries,
// the two were not meant for each other. (Single queries may see nothing: those of padding do.)
void require_agrees(const AttentionMask& mask, const Visibility& visibility) {
  for (int64_t s = 0; (visibility.window > 0 || visibility.stride > 1) && s < mask.sequences(); ++s) {
    const int64_t keys = mask.keys(s), offset = keys - mask.queries(s);
    int64_t shown = 0, seen = 0;
    for (int64_t query = 0; query < mask.queries(s) && seen == 0; ++query) {
      for (int64_t key = 0; key < keys; ++key) {
        const bool shows = mask.sees(s, query, key);
        shown += shows ? 1 : 0;
        seen += shows && visibility.sees(offset + query, key) ? 1 : 0;
      }
    }
    require(shown == 0 || seen > 0, "attention",
            "sequence {}: the mask shows only keys outside the window of {} tokens, or between the strides of {}", s,
            visibility.window, visibility.stride);
  }
}

void require_fits(const Columns& queries, const Segments& segments, const ConstKeyValueView& memory,
                  const AttentionSettings& settings) {
  const int64_t width = queries.count / settings.heads * settings.key_value_heads;
  require(memory.keys.columns() == width, "attention",
          "{} key-value heads against queries {} need {} columns, keys are {}", settings.key_value_heads,
          queries.value(), width, memory.keys);
  require(memory.values.columns() > 0 && memory.values.columns() % settings.key_value_heads == 0, "attention",
          "{} key-value heads do not divide values {}", settings.key_value_heads, memory.values);
  require(segments.rows() == queries.var.rows(), "attention", "segments of {} rows for queries {}", segments.rows(),
          queries.value());
  require(segments.count() == memory.segments->count(), "attention", "{} sequences of queries, {} of keys",
          segments.count(), memory.segments->count());
  require(memory.paged() || memory.segments->rows() == memory.keys.rows(), "attention",
          "segments of {} rows for keys {}", memory.segments->rows(), memory.keys);
  const ConstKeyValueScales& scales = memory.scales;
  require((memory.keys.type() == DType::i8) != scales.keys.empty() && scales.keys.empty() == scales.values.empty() &&
              (scales.keys.empty() || scales.keys.columns() == settings.key_value_heads),
          "attention", "keys {} with scales {}", memory.keys, scales.keys);
  if (settings.mask == nullptr) {
    return;
  }
  require(settings.mask->sequences() == segments.count(), "attention", "a mask of {} sequences for {}",
          settings.mask->sequences(), segments.count());
  for (int64_t s = 0; s < segments.count(); ++s) {
    require(settings.mask->queries(s) == segments.length(s) && settings.mask->keys(s) == memory.segments->length(s),
            "attention", "sequence {}: a mask of {} x {} for {} queries and {} keys", s, settings.mask->queries(s),
            settings.mask->keys(s), segments.length(s), memory.segments->length(s));
  }
  require_agrees(*settings.mask, settings.visibility);
}

// Attention weights of parts of the heads, to be put together: for each sequence the parts follow each other.
Tensor joined(Backend& backend, const std::vector<Tensor>& parts, const Segments& queries, const Segments& keys,
              int64_t heads_of_part) {
  int64_t elements = 0;
  for (const Tensor& part : parts) {
    elements += part.elements();
  }
  Tensor all({elements}, backend.master_type());
  int64_t to = 0, from = 0;
  for (int64_t s = 0; s < queries.count(); ++s) {
    const int64_t count = heads_of_part * queries.length(s) * keys.length(s);
    for (const Tensor& part : parts) {
      backend.copy(part.view().column_range(from, count), all.view().column_range(to, count));
      to += count;
    }
    from += count;
  }
  return all;
}

struct Result {
  Var output;
  Tensor log_sum_exp, mass;
};

// The sum of the weights of each query, head and distance, to be multiplied by the relative values.
Tensor allocate_mass(Pass& pass, const AttentionSettings& settings, const Weight& values,
                     const ConstKeyValueView& memory) {
  const DistanceScores& scores = settings.by_distance;
  require(!scores.table.empty() && scores.of == TableOf::query, "attention",
          "relative values {} need relative scores for each query", values.name());
  const int64_t width = memory.values.columns() / settings.key_value_heads;
  require(values.shape() == Shape({width, scores.distances}), "attention",
          "relative values {} are {}, which does not fit heads of {} columns and {} distances", values.name(),
          values.shape(), width, scores.distances);
  return pass.allocate_master({scores.table.rows(), scores.table.columns()});
}

Result run(Pass& pass, const Columns& queries, const Segments& segments, const ConstKeyValueView& memory,
           const std::vector<AttentionSettings>& parts, const AttentionOptions& options) {
  Tensor* const weights = options.weights;
  const size_t count = parts.size();
  const int64_t heads = parts.front().heads;  // of each part
  const int64_t group = heads / parts.front().key_value_heads;
  Result result{Var(pass.allocate({queries.var.rows(), group * memory.values.columns()}), queries.var.first_row()),
                Tensor(), Tensor()};
  Tensor mass;
  if (options.relative_values != nullptr) {
    mass = allocate_mass(pass, parts.front(), *options.relative_values, memory);
  }
  if (pass.recording()) {
    result.log_sum_exp = pass.allocate_master({queries.var.rows(), heads * static_cast<int64_t>(count)});
  }
  std::vector<Tensor> weights_of_parts(count);
  for (size_t i = 0; i < count; ++i) {
    const Columns own{queries.var,
                      queries.first + static_cast<int64_t>(i) * queries.count / static_cast<int64_t>(count),
                      queries.count / static_cast<int64_t>(count)};
    const ConstKeyValueView own_memory = part_of(memory, i, count);
    require_fits(own, segments, own_memory, parts[i]);
    if (weights != nullptr) {
      weights_of_parts[i] =
          Tensor({attention_weight_count(segments, *memory.segments, heads)}, pass.backend().master_type());
    }
    pass.backend().attention({
        .settings = parts[i],
        .queries = own.value(),
        .segments = &segments,
        .memory = own_memory,
        .output = part_of(result.output.value(), i, count),
        .log_sum_exp = part_of(result.log_sum_exp.view(), i, count),
        .weights = weights_of_parts[i].view(),
        .mass = mass.view(),
    });
  }
  if (options.relative_values != nullptr) {
    result.mass = add_relative_values(pass, mass, *options.relative_values, result.output.value());
  }
  if (weights != nullptr) {
    *weights = count == 1 ? std::move(weights_of_parts.front())
                          : joined(pass.backend(), weights_of_parts, segments, *memory.segments, heads);
  }
  return result;
}

bool wants_gradient(const RelativeScores& relative) {
  return !relative.table.empty() && relative.gradient != RelativeScores::Gradient::none &&
         relative.table.wants_gradient();
}

// Memory for the gradient of a term by distance, if that is wanted: of a table of heads, each sequence's own sums.
Tensor allocate_relative(Backend& backend, const AttentionOp& op) {
  const RelativeScores& relative = op.relative;
  if (!wants_gradient(relative)) {
    return {};
  }
  const int64_t rows =
      relative.of == TableOf::head ? op.inputs.query_segments->count() * relative.table.rows() : relative.table.rows();
  return Tensor({rows, relative.table.columns()}, relative.table.type(), backend.arena());
}

// Adds them to the gradient, sequence after sequence.
void add_relative(Backend& backend, Var& table, const Tensor& found) {
  const Var::Slot slot = table.gradient_slot(backend);
  if (slot.write == Write::overwrite) {
    backend.fill(slot.view, 0.0);
  }
  const int64_t rows = table.rows();
  for (int64_t first = 0; first < found.shape().rows(); first += rows) {
    backend.add(found.view().row_range(first, rows), slot.view);
  }
}

}  // namespace

VisibilityByHead::VisibilityByHead(std::vector<Visibility> parts) : parts_(std::move(parts)) {
  ensure(!parts_.empty(), "attention", "a visibility without parts");
  if (std::ranges::all_of(parts_, [this](const Visibility& part) { return part == parts_.front(); })) {
    parts_.resize(1);
  }
}

int64_t attention_weight_count(const Segments& queries, const Segments& keys, int64_t heads) {
  int64_t count = 0;
  for (int64_t s = 0; s < queries.count(); ++s) {
    count += heads * queries.length(s) * keys.length(s);
  }
  return count;
}

Var attention(Pass& pass, const AttentionInputs& inputs, const AttentionOptions& options) {
  std::vector<AttentionSettings> parts = parts_of(pass, inputs.queries, options);
  const ConstKeyValueView memory{inputs.keys.value(), inputs.values.value(), inputs.key_segments, {}};
  Result result = run(pass, inputs.queries, *inputs.query_segments, memory, parts, options);
  result.output.want_gradient_only_if(inputs.queries.var.wants_gradient() || inputs.keys.var.wants_gradient() ||
                                      inputs.values.var.wants_gradient() || wants_gradient(options.relative) ||
                                      (options.relative_values != nullptr && options.relative_values->is_trained()));
  if (pass.recording() && result.output.wants_gradient()) {
    pass.tape().record(AttentionOp{inputs, std::move(parts), options.relative, options.relative_values, result.output,
                                   std::move(result.log_sum_exp), std::move(result.mass)});
  }
  return result.output;
}

void append_key_values(Pass& pass, const AttentionInputs& inputs, const KeyValueView& memory) {
  ensure(!pass.recording(), "attention", "a cache has no gradient");
  require(memory.keys.columns() == inputs.keys.count && memory.values.columns() == inputs.values.count, "attention",
          "keys of {} columns and values of {} for a cache of {} and {}", inputs.keys.count, inputs.values.count,
          memory.keys, memory.values);
  require(inputs.key_segments->count() == memory.segments->count(), "attention", "{} sequences for a cache of {}",
          inputs.key_segments->count(), memory.segments->count());
  pass.backend().append_key_values({inputs.keys.value(), inputs.values.value(), inputs.key_segments, memory});
}

Var attention(Pass& pass, const Columns& queries, const Segments& segments, const ConstKeyValueView& memory,
              const AttentionOptions& options) {
  ensure(!pass.recording(), "attention", "a cache has no gradient");
  return run(pass, queries, segments, memory, parts_of(pass, queries, options), options).output;
}

void AttentionOp::backward(Backend& backend) {
  if (output.gradient().empty()) {
    return;
  }
  const AttentionGradients gradients(backend, inputs);
  const Tensor d_relative = allocate_relative(backend, *this);
  const Tensor d_mass = relative_values == nullptr
                            ? Tensor()
                            : relative_values_backward(backend, *relative_values, mass.view(), output.gradient());
  const ConstKeyValueView memory{inputs.keys.value(), inputs.values.value(), inputs.key_segments, {}};
  const size_t count = parts.size();
  for (size_t i = 0; i < count; ++i) {
    backend.attention_backward({
        .settings = parts[i],
        .queries = part_of(inputs.queries.value(), i, count),
        .segments = inputs.query_segments,
        .memory = part_of(memory, i, count),
        .output = part_of(output.value(), i, count),
        .log_sum_exp = part_of(log_sum_exp.view(), i, count),
        .d_output = part_of(output.gradient(), i, count),
        .d_mass = d_mass.view(),
        .d_queries = part_of(gradients.queries(), i, count),
        .d_keys = part_of(gradients.keys(), i, count),
        .d_values = part_of(gradients.values(), i, count),
        .d_by_distance = d_relative.view(),
    });
  }
  gradients.finish();
  if (!d_relative.empty()) {
    add_relative(backend, relative.table, d_relative);
  }
}

}  // namespace heed
