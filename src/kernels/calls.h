// The arguments of a backend's calls: for each fused op, forward and backward, one plain struct of its operands. Views
// borrow; an empty view is a missing operand. Shapes are checked once, by the ops above; kernels trust them.
//
// Element types: `storage` (f32, bf16; f64 in the reference backend) for activations and matrices; weights' masters,
// biases, norm gains, gradients of weights, statistics and losses in `master_type()` (f32; f64 in the reference).
#pragma once

#include <functional>
#include <span>

#include "base/random.h"
#include "heed/labels.h"
#include "kernels/dropout.h"
#include "kernels/rotary_scale.h"
#include "kernels/visibility.h"
#include "tensor/segments.h"
#include "tensor/tensor.h"

namespace heed {

enum class Activation : uint8_t { none, relu, gelu, gelu_tanh, silu };
enum class NormKind : uint8_t { layer, rms };
enum class Write : uint8_t { overwrite, add };            // what happens to a gradient's former contents
enum class WeightDecay : uint8_t { coupled, decoupled };  // added to the gradient (Adam), or to the step (AdamW)
enum class Turn : uint8_t { forward, backward };

// A weight matrix in the form its backend multiplies fastest. Opaque; made by Backend::pack.
class PackedWeight {
 public:
  PackedWeight(int64_t rows, int64_t columns) : rows_(rows), columns_(columns) {}
  virtual ~PackedWeight() = default;

  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  virtual int64_t bytes() const = 0;  // in memory

 private:
  int64_t rows_, columns_;
};

// [out, in], or a table's [vocabulary, model]. Where `packed` is set, forward reads it, and the matrix may be empty.
struct WeightView {
  View matrix;  // storage type
  const PackedWeight* packed = nullptr;

  bool empty() const { return packed == nullptr && matrix.empty(); }
  int64_t rows() const { return packed != nullptr ? packed->rows() : matrix.rows(); }
  int64_t columns() const { return packed != nullptr ? packed->columns() : matrix.columns(); }
};

// Of a product x W^T. Weights in bf16 serve inputs in f32 too: widened, they are exact, in half the memory.
struct ProductTypes {
  DType weights = DType::f32, inputs = DType::f32;
};

// Returns rows [first, first + count) of a matrix, which are requested in order. They stay valid until the next
// request.
using RowSource = std::function<View(int64_t first, int64_t count)>;

// A matrix of whole numbers within +-127 with a scale for each row: W[r, c] = scales[r] * values[r, c].
struct Int8Matrix {
  Shape shape;
  RowSource values;          // i8
  View scales;               // master type [1, rows]
  float input_scale = 0.0F;  // of all rows that it multiplies; 0: each has its own
};

// A matrix of whole numbers from -8 to 7 with a scale for each group of kInt4Group neighbouring columns of a row:
// W[r, c] = scales[r, c / kInt4Group] * values[r, c].
struct Int4Matrix {
  Shape shape;
  RowSource values;  // i8
  View scales;       // master type [rows, groups], of values that bf16 represents
};

// y = dropout(act(x W^T + b)), in the storage or the master type; b has one row, or one for each of x. `before` saves
// x W^T + b for backward where the activation needs it. A weight of whole numbers multiplies rows that are quantized
// first:
//   s[r] = max |x[r, :]| / 127    q[r, k] = round(x[r, k] * (127 / max |x[r, :]|))
// or, where it has an input scale, s[r] = input_scale    q[r, k] = round(min(127, max(-127, x[r, k] * (1 / s[r]))))
//   x W^T[r, c] = (sum over k of q[r, k] values[c, k]) s[r] scales[c], in int8
//   x W^T[r, c] = (sum over g of (sum over k in g of q[r, k] values[c, k]) scales[c, g]) s[r], in int4
struct LinearForward {
  View x;
  WeightView weight;
  View bias;
  Activation activation = Activation::none;
  Dropout dropout;
  View y, before;
};

// d_before = d_y * dropout * act'(before). ReLU reads `y` instead: y > 0 says both that it was kept and that it was
// positive. May be in place (d_before = d_y).
struct ActivationBackward {
  Activation activation;
  Dropout dropout;
  View y, before, d_y, d_before;
};

// d_x (+)= scale * d_y W.
struct LinearInputGradient {
  View d_y;
  WeightView weight;
  View d_x;
  Write write = Write::overwrite;
  double scale = 1.0;
};

// d_weight (+)= scale * d_y^T x, d_bias (+)= scale * sum over rows of d_y.
struct LinearWeightGradient {
  View d_y, x, d_weight, d_bias;
  Write write = Write::overwrite;
  double scale = 1.0;
};

// y[r] = dropout(scale * table[tokens[r]] + positions[position_rows[r]] + types[type_rows[r]]). A negative token's row is
// in another part of the table: y[r] is zero.
struct EmbeddingForward {
  View tokens;       // i32 [1, rows]
  WeightView table;  // [vocabulary, model]
  double scale = 1.0;
  View position_rows;    // i32 [1, rows]
  WeightView positions;  // [max_length, model], in the storage or the master type
  View type_rows;
  WeightView types;
  Dropout dropout;
  View y;
};

// Adds scale * d_y to the rows of d_table, d_y to those of d_positions and d_types, in the order of the batch's rows.
// A negative token adds nothing to d_table.
struct EmbeddingBackward {
  View tokens;
  double scale = 1.0;
  View position_rows, type_rows;
  Dropout dropout;
  View d_y, d_table, d_positions, d_types;
};

// y[r] = x[rows[r]]; a row may be selected several times, or not at all.
struct SelectRows {
  View x;
  View rows;  // i32 [1, rows of y]
  View y;
};

// d_x[i] (+)= the sum of d_y[r] over all r with rows[r] = i, in the order of r; rows that were not selected get zeros.
struct SelectRowsBackward {
  View d_y, rows, d_x;
  Write write = Write::overwrite;
};

// y[s] = the mean or, column by column, the maximum of rows [begin(s), end(s)) of x; zeros where there are none.
// `chosen` holds the row of each maximum, the first in a tie. (Pooling::first is a selection of rows.)
struct PoolForward {
  const Segments* segments = nullptr;
  Pooling kind = Pooling::mean;
  View x, y;
  View chosen;  // of max: i32 [segments, columns]
};

// For each row r of sequence s:
//   mean: d_x[r] (+)= d_y[s] / length(s)      max: d_x[r, c] (+)= d_y[s, c] if chosen[s, c] = r, else 0
struct PoolBackward {
  const Segments* segments = nullptr;
  Pooling kind = Pooling::mean;
  View chosen, d_y, d_x;
  Write write = Write::overwrite;
};

// sum = residual + dropout(branch); normed = norm(sum) * gain + bias.
// The stored (rounded) sum is what is normalized, so that backward reads the same values.
//   layer: (s - mean) / sqrt(variance + epsilon)    rms: s / sqrt(mean of squares + epsilon)
// Without a branch, the sum is the residual itself and `sum` is empty; without `normed`, only the sum is computed.
// `statistics` holds mean (0 for rms) and 1/deviation.
// A norm without a branch may be one of groups: each of a row's equal groups of columns, such as its heads, is
// normalized on its own, by the same gain and bias of a group's width; `statistics` has two columns for each group.
struct AddNormForward {
  NormKind kind = NormKind::layer;
  int64_t groups = 1;
  View residual, branch;
  Dropout dropout;
  View gain, bias;
  double epsilon = 1e-5;
  View sum, normed, statistics;
};

// d_residual = d_sum + norm'(d_normed), d_branch = d_residual * dropout. `sum` is what was normalized. Either upstream
// gradient may be empty (zero). d_residual may be d_sum's memory. d_gain and d_bias are added to. For a sum
// without a norm, d_normed, statistics, gain, d_gain and d_bias are empty.
struct AddNormBackward {
  NormKind kind = NormKind::layer;
  int64_t groups = 1;
  View sum, statistics, gain;
  Dropout dropout;
  View d_normed, d_sum;
  View d_residual;
  Write write_residual = Write::overwrite;
  View d_branch, d_gain, d_bias;
};

// y = dropout(act(x[:, :inner]) * x[:, inner:]).
struct GateForward {
  Activation activation = Activation::silu;
  View x;
  Dropout dropout;
  View y;
};

struct GateBackward {
  Activation activation = Activation::silu;
  View x;
  Dropout dropout;
  View d_y, d_x;
};

// y = parts[0] + parts[1] + ... + b, added in this order in the master type, and rounded once. y may be one of the parts.
struct SumParts {
  std::span<const View> parts;  // of y's shape and type
  View bias;                    // [1, columns]
  View y;
};

// Rotates the pairs (c, c + dims / 2) of each head's first `dims` columns by position * frequency(c), in place, and
// multiplies them by the magnitude; see RotaryPairs. Turn::backward is the transpose, which is the gradient and, at
// magnitude 1, the inverse.
struct Rotation {
  View x;              // [rows, heads * head width]
  View position_rows;  // i32 [1, rows]
  int64_t heads = 1, dims = 0;
  double base = 10000.0;
  Turn turn = Turn::forward;
  RotaryScale scale = {};

  RotaryPairs pairs() const { return {dims, base, scale}; }
};

// Where the rows of a paged cache are: token j of sequence s is row pages[s, j / page_tokens] * page_tokens +
// j % page_tokens. Where no query sees any token of a page, the entry may name any page whose values are finite.
struct PageTable {
  View pages;  // i32 [sequences, max pages of a sequence]
  int64_t page_tokens = 16;
};

// Linear attention sums the tokens of a sequence in chunks that begin at multiples of this, whatever the batch.
constexpr int64_t kLinearChunk = 64;

// What linear attention knows of the tokens that came before those of a cache: for each key-value head, sums over the
// first `tokens` of a sequence, whole chunks, whose keys and values need not be in the cache any more.
struct LinearStates {
  View sums;           // master type [slots, size()]; the order of a slot's elements is the backend's own
  View slots, tokens;  // i32 [1, sequences]: a sequence's row of `sums`, and its summed tokens; 0: the row is not read

  // Of a slot: the sums of phi(k) v^T and of phi(k), see LinearAttentionForward.
  static int64_t size(int64_t key_value_heads, int64_t key_width, int64_t value_width) {
    return key_value_heads * key_width * (value_width + 1);
  }
  // Requires host memory.
  int64_t tokens_of(int64_t sequence) const { return tokens.empty() ? 0 : host<int32_t>(tokens)(0, sequence); }
};

// Of keys and values in int8: a head's part of a row is its whole numbers times its scale.
struct KeyValueScales {
  View keys, values;  // f32 [rows, key-value heads]
};

// Keys and values of each sequence: rows of two matrices, end to end, or scattered over pages. Their type is the storage
// type; in a cache that attention reads it may also be bf16 where that is f32, or int8 with scales.
struct KeyValueView {
  View keys, values;  // [rows, key-value heads * head width], and of values' own width
  const Segments* segments = nullptr;
  PageTable table;             // empty pages: end to end
  LinearStates states = {};    // of linear attention; empty: no token was summed before
  KeyValueScales scales = {};  // empty unless in int8

  bool paged() const { return !table.pages.empty(); }
  // Requires host memory.
  int64_t row(int64_t sequence, int64_t token) const {
    if (!paged()) {
      return segments->begin(sequence) + token;
    }
    const int64_t page = host<int32_t>(table.pages)(sequence, token / table.page_tokens);
    return page * table.page_tokens + token % table.page_tokens;
  }
};

// Writes new rows into a cache, in its type: they become the last tokens of their sequences in `memory`. To int8, each
// head's part is rounded by quantize_row().
struct KeyValueAppend {
  View keys, values;                   // [new rows, columns of the memory's], storage type
  const Segments* segments = nullptr;  // of the new rows
  KeyValueView memory;                 // its segments include the new rows
};

// A term of attention's scores by distance, which is the key's position less the query's:
//   S[query, key] += factor * table[row, clamp(distance - first, 0, distances - 1)]
// The row is that of the head, in a table [heads, distances] that all queries share; or the head's part of the row of
// the query, in a table [query rows, heads * distances].
enum class TableOf : uint8_t { head, query };
struct DistanceScores {
  View table;  // master type; empty: no such term
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
  // Draws from RowRandom(key, (first_row + query row) * drawn_heads() + first_drawn_head + head), where the query row is
  // counted in the matrix of queries; the column is the key's position in its sequence, divided by the stride.
  Dropout dropout;
  // Where the heads are some of those that a whole model has here: how many those are (0: these are all), and the number
  // of the first of these.
  int64_t heads_of_whole = 0, first_drawn_head = 0;

  uint64_t drawn_heads() const { return static_cast<uint64_t>(heads_of_whole > 0 ? heads_of_whole : heads); }
  // The row of draws of a head's query row.
  uint64_t draw_row(int64_t query_row, int64_t head) const {
    return (dropout.first_row + static_cast<uint64_t>(query_row)) * drawn_heads() +
           static_cast<uint64_t>(first_drawn_head + head);
  }
};

// For each sequence and head: P = softmax(S over the visible keys), S = scale * Q K^T, perhaps capped, or plus the term
// by distance; output = dropout(P) V, as wide as V's heads, which may differ from K's. A query that sees nothing gives zeros. No [queries, keys] matrix is stored.
// Backward rebuilds P from log_sum_exp (master type [rows, heads]; -infinity where nothing is seen). `weights`, when
// requested: P before dropout, master type, one row: for each sequence, for each head, [queries, keys], end to end.
// `mass`, when requested, which needs a table by distance of queries, has that table's shape and type: the sum of
// dropout(P) over the keys at each clamped distance.
struct AttentionForward {
  AttentionSettings settings;
  View queries;
  const Segments* segments = nullptr;  // of the queries
  KeyValueView memory;
  View output, log_sum_exp, weights, mass;
};

// With D = rowsum(d_output * output):
//   d_values = dropout(P)^T d_output   d_P = dropout(d_output V^T + d_mass at the pair's distance)   d_S = P * (d_P - D)
//   d_queries = scale * d_S K          d_keys = scale * d_S^T Q       with a cap: d_S (1 - (S / cap)^2) for d_S here
//   d_by_distance[row, d] = factor * the sum of d_S over the pairs of the row whose clamped distance is d
// Keys and values are stored end to end here (no pages). All gradients are overwritten. d_by_distance, master type, may
// be empty; where all queries share a table, it is [sequences * heads, distances]: each sequence's own sums. With
// d_mass, which may be empty, `output` includes what was made of the mass, so that D has its part.
struct AttentionBackward {
  AttentionSettings settings;
  View queries;
  const Segments* segments = nullptr;
  KeyValueView memory;
  View output, log_sum_exp, d_output;
  View d_mass;
  View d_queries, d_keys, d_values, d_by_distance;
};

// phi of linear attention, element by element: elu(x) + 1, which is x + 1 above zero and e^x below, or e^x. The first is at
// least kLeastElu, where it would round to nothing, so that the divisor is above zero for every input; the second limits
// its exponent on both sides, so that sums of products stay finite too.
enum class LinearFeature : uint8_t { elu, exp };
constexpr double kLeastElu = 0x1p-24;  // below x = -16.6; half of f32's rounding step at 1
constexpr double kMostExponent = 16.0;

// Linear attention's settings. Heads of queries share the key-value heads evenly, in order.
struct LinearAttentionSettings {
  int64_t heads = 1, key_value_heads = 1;
  Visibility::Reach reach = Visibility::Reach::full;
  LinearFeature feature = LinearFeature::elu;
};

// For each sequence and head, with sums over the keys that the query sees:
//   output = sum of (phi(q) . phi(k)) v / divisor    divisor = sum of phi(q) . phi(k)
// Queries are aligned with the end of the keys. `divisors`, when requested: master type [rows, heads]. `weights`, when
// requested (not with states): (phi(q) . phi(k)) / divisor, master type, in the order of AttentionForward's.
struct LinearAttentionForward {
  LinearAttentionSettings settings;
  View queries;
  const Segments* segments = nullptr;  // of the queries
  KeyValueView memory;
  View output, divisors, weights;
};

// With g = d_output / divisor, h = -(d_output . output) / divisor, and sums over the pairs that see each other:
//   d_phi(q) = sum over keys of (g . v + h) phi(k)        d_values = sum over queries of (phi(q) . phi(k)) g
//   d_phi(k) = sum over queries of (g . v + h) phi(q)     d_x = d_phi(x) * phi'(x), which is 0 at the least feature
// Queries and keys are the same tokens, end to end (no pages, no states). All gradients are overwritten.
struct LinearAttentionBackward {
  LinearAttentionSettings settings;
  View queries;
  const Segments* segments = nullptr;
  KeyValueView memory;
  View output, divisors, d_output;
  View d_queries, d_keys, d_values;
};

// Adds all whole chunks of the cached tokens that the states lack to their sums. Each sequence has a slot of its own.
struct LinearAttentionFold {
  int64_t key_value_heads = 1;
  LinearFeature feature = LinearFeature::elu;
  KeyValueView memory;
};

// scores[h, d] = table[buckets[d], h]: a learned score of each bucket of distances, spread over the distances.
struct SpreadBuckets {
  View table;    // master type [buckets, heads]
  View buckets;  // i32 [1, distances]
  View scores;   // master type [heads, distances]
};

// Adds d_scores[h, d] to d_table[buckets[d], h], in the order of d.
struct SpreadBucketsBackward {
  View buckets, d_scores, d_table;
};

// Output projection and label-smoothed cross-entropy, block of rows by block of rows:
//   z = x W^T + b    q = (1 - s) onehot(target) + s / V    loss = lse(z) - q.z    d_logits = softmax(z) - q
// With a cap (above 0), cap * tanh(z / cap) takes the place of z, and d_logits are those of the z before:
//   d_logits = (softmax(capped) - q) * (1 - (capped / cap)^2)
// A negative target is ignored: loss 0, gradient 0. losses, master type [rows, 2]: the loss above, and lse(z) -
// z[target].
struct OutputLoss {
  View x;
  WeightView weight;
  View bias;
  View targets;  // i32 [1, rows]
  double smoothing = 0.0, cap = 0.0;
  View losses;
  View d_logits;  // storage type [rows, vocabulary]; empty when no gradient is needed
};

// The same loss, from logits that are computed already.
struct CrossEntropy {
  View logits, targets;
  double smoothing = 0.0;
  View losses, d_logits;
};

// The log-softmax of some of a row's logits, each row's own:
//   z[i] = logits[r, columns[begin + i]]    log_probs[r, i] = z[i] - log(sum over i of e^z[i])    begin + i < end
// What follows in a row of log_probs is minus infinity. The result depends on the z of its row alone.
struct SelectedLogSoftmax {
  View logits;     // storage or master type
  View columns;    // i32 [1, any]
  View ranges;     // i32 [2, rows]: where the columns of each row begin and end; none is empty
  View log_probs;  // master type [rows, as many as the longest range, or more]
};

// The mean of K models' distributions, from the log-probabilities of each:
//   mean[r, c] = log((sum over k of e^log_probs[k][r, c]) / K)      minus infinity where all of them are
// A NaN of any model is one of the mean.
struct AverageProbabilities {
  std::span<const View> log_probs;  // f32 or master type, all of one shape; at least one
  View mean;                        // of their shape and type, in memory of its own
};

// Of rows of logits z of which a rank has some columns, for the loss over all columns:
//   sums[r] = max z    sum of e^(z - max z)    sum of z    z[target], or 0 where the target is negative: not among these
struct LogitSums {
  View logits;   // master type [rows, columns]
  View targets;  // i32 [1, rows]: of these columns
  View sums;     // master type [rows, 4]
};

// OutputLoss's losses and gradient from logits of which a rank has some columns (capped already, if there is a cap), and
// the LogitSums of all ranks, which are combined in their order:
//   lse(z) = m + log(sum over k of sum_k e^(max_k - m))    m = max over k of max_k
struct DividedLoss {
  View logits, targets;
  std::span<const View> sums;
  int64_t vocabulary = 0;  // columns of all ranks
  double smoothing = 0.0, cap = 0.0;
  View losses;
  View d_logits;  // of these columns, perhaps in the logits' memory; empty when no gradient is needed
};

// The loss of each row, summed over its columns, with targets t (master type, of the logits' shape):
//   sigmoid: log(1 + e^z) - t z    d_z = sigmoid(z) - t        squared: (z - t)^2 / 2    d_z = z - t
// Both columns of `losses` get it.
enum class LabelLossKind : uint8_t { sigmoid, squared };
struct LabelLoss {
  LabelLossKind kind = LabelLossKind::sigmoid;
  View logits, targets, losses, d_logits;
};

// Multiplies by the dropout's factors, in place; so does its gradient.
struct Drop {
  View x;
  Dropout dropout;
};

// x = cap * tanh(x / cap), in place: about x where that is small, and never beyond the cap.
struct SoftCap {
  View x;
  double cap = 1.0;
};

// d_y *= 1 - (y / cap)^2, in place.
struct SoftCapBackward {
  View y, d_y;
  double cap = 1.0;
};

// Elements [first, first + count) of flat memory, and whether weight decay shrinks them.
enum class Decays : uint8_t { no, yes };
struct ElementRange {
  int64_t first, count;
  Decays decays = Decays::yes;
};

// One sweep over flat parameters: clip by the global norm, Adam with decay of either kind, update of the storage copy.
//   g = gradient * min(1, max_norm / (norm + 1e-6))          coupled: g += decay * w
//   m = b1 m + (1 - b1) g    v = b2 v + (1 - b2) g^2         decoupled: w -= rate * decay * w
//   w -= rate * m / (1 - b1^n) / (sqrt(v / (1 - b2^n)) + epsilon)          n: updates applied, this one included
// When the norm is not finite, nothing changes, and the update is not counted.
struct AdamSweep {
  View weights, gradients, first_moments, second_moments;  // master type [1, n]
  View copy;                                               // bf16 [1, n], or empty
  View squared_norm;                                       // f64 [1, 1]: of all gradients
  View applied;                                            // f64 [1, 1]: updates so far; counts this one
  std::span<const ElementRange> ranges;                    // the elements to update
  double learning_rate = 0.0, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double max_norm = 0.0;  // 0: no clipping
  WeightDecay decay_kind = WeightDecay::decoupled;
  double weight_decay = 0.0;
};

// The first part of Muon's update of one matrix: Nesterov momentum, scaled to norm 1 for the orthogonalization that
// follows.
//   g = gradient * min(1, max_norm / (norm + 1e-6))    m = momentum m + g    u = g + momentum m    direction = u / |u|
// When the gradients' norm is not finite, m does not change, and the direction is zero. It is zero also when u is.
struct MuonDirection {
  View gradients, moments;  // master type [out, in]
  View squared_norm;        // f64 [1, 1]: of all gradients
  double momentum = 0.95, max_norm = 0.0;
  View direction;  // storage or master type [out, in]
};

// The last part: w -= rate * (scale * direction + decay * w). When the norm is not finite, nothing changes.
struct MuonStep {
  View weights;       // master type [out, in]
  View copy;          // bf16 [out, in], or empty
  View direction;     // storage or master type [out, in]
  View squared_norm;  // f64 [1, 1]
  double learning_rate = 0.0, scale = 1.0, weight_decay = 0.0;
};

}  // namespace heed
