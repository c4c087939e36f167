// Multi-head attention: projections around the attention op.
#pragma once

#include "nn/norm.h"
#include "nn/relative_positions.h"
#include "nn/value_embedding.h"
#include "ops/attention/attention.h"
#include "ops/attention/head_norm.h"
#include "ops/attention/linear_attention.h"
#include "ops/attention/rotate.h"
#include "ops/roles.h"
#include "tensor/sequences.h"

namespace heed {

// Whether embeddings of distances are added to values as well as to keys.
enum class RelativeValues : uint8_t { none, present };
// What is normalized at once: each head of a query or a key, or all its heads together. Heads share one gain, and one
// bias, or each has a gain of its own and none has a bias.
enum class HeadNorm : uint8_t { none, each_head, all_heads, own_gains };
// How a query's keys become weights of their values; see ops/attention/attention.h and
// ops/attention/linear_attention.h.
enum class AttentionKernel : uint8_t { softmax, linear };

struct AttentionShape {
  int64_t model;
  int64_t heads, key_value_heads;    // several heads of queries may share one of keys and values
  int64_t head_width;                // of queries and keys
  int64_t value_width = 0;           // of a head's values; 0: as the others
  Bias bias = Bias::present;         // of queries, keys and values
  Bias output_bias = Bias::present;  // of the projection back
  AttentionKernel kernel = AttentionKernel::softmax;
  LinearFeature linear_feature = LinearFeature::elu;
  VisibilityByHead visibility;          // of linear attention only the reach
  HeadNorm head_norm = HeadNorm::none;  // of queries and keys, before they are rotated
  NormShape norm = {};                  // of what kind; its width follows from the heads
  Rotary rotary;
  std::shared_ptr<const RelativePositions> relative;  // of self-attention; may be null
  // For self-attention: distances up to this one have embeddings, which are added to keys, S = scale Q (K + A)^T, and
  // perhaps others that are added to values, O = P (V + B); those beyond count as this one. 0: none.
  int64_t relative_clip = 0;
  RelativeValues relative_values = RelativeValues::none;
  const Weight* value_table = nullptr;  // of self-attention: tokens' rows, which are added to their values
  double scale = 0.0;                   // of the scores; 0: 1 / sqrt(head_width)
  SoftCapAt score_cap;
  Probability dropout{0.0F};  // of the attention weights, which linear attention lacks
  MatrixInitialization initialization;
};

// The norm of queries or of keys, with weights of its own; where there is none, they stay what they are.
class QueryKeyNorm {
 public:
  QueryKeyNorm(const Scope& scope, WeightRole role, const AttentionShape& shape, Heads heads);  // of this rank
  Columns operator()(Pass& pass, const Columns& x) const;

 private:
  std::optional<Norm> norm_;
  NormGroups groups_;
};

// A user's mask. Those of self- and cross-attention have different types, so that they can't be swapped.
class SelfMask {
 public:
  SelfMask() = default;
  explicit SelfMask(const AttentionMask& mask) : mask_(&mask) {}
  const AttentionMask* get() const { return mask_; }

 private:
  const AttentionMask* mask_ = nullptr;
};
class CrossMask {
 public:
  CrossMask() = default;
  explicit CrossMask(const AttentionMask& mask) : mask_(&mask) {}
  const AttentionMask* get() const { return mask_; }

 private:
  const AttentionMask* mask_ = nullptr;
};

// The options of one call.
struct CrossAttentionCall {
  CrossMask mask;
  Tensor* weights = nullptr;
  // If set, receives how long the vectors are that the weights are of, |v W_O^T| for the value v of each head and key:
  // [heads, keys], f32. It stays empty where values lie in a device's memory.
  Tensor* value_norms = nullptr;
};
struct SelfAttentionCall {
  SelfMask mask;
  Tensor* weights = nullptr;
  Tensor* value_norms = nullptr;  // as above
  // Keys and values of all tokens so far, with room for those of the new ones: the call writes these, and attends to
  // all. For inference.
  const KeyValueView* cache = nullptr;
};

// The cached keys and values of a memory while decoding, and the rows of queries that read each of its sequences:
// several hypotheses may share a sentence.
struct CachedMemory {
  const KeyValueView* keys_values = nullptr;
  const Segments* queries = nullptr;
};

// Queries, keys and values from the same rows, through one projection [q | k | v]. Of a model in parts each rank has
// some of the heads.
class SelfAttention {
 public:
  SelfAttention(const Scope& scope, const AttentionShape& shape);
  Var operator()(Pass& pass, const Var& x, const Sequences& sequences, const SelfAttentionCall& call = {}) const;

 private:
  RelativeScores scores_by_distance(Pass& pass, const Columns& queries, const Segments& keys) const;
  Var mix_linearly(Pass& pass, const AttentionInputs& inputs, const Sequences& sequences,
                   const SelfAttentionCall& call) const;

  const Parts* parts_;
  AttentionShape shape_;  // of this rank's heads
  HeadRange heads_;
  DropoutSite dropout_;
  Linear projection_;
  const Weight *relative_keys_ = nullptr, *relative_values_ = nullptr;  // A and the transpose of B
  QueryKeyNorm query_norm_, key_norm_;
  std::optional<ValueEmbedding> value_embedding_;
  Linear output_;
};

// Queries from the decoder, keys and values [k | v] from the encoder's memory. Of a model in parts each rank has some
// of the heads, and `memory` comes from to_parts.
class CrossAttention {
 public:
  CrossAttention(const Scope& scope, const AttentionShape& shape);
  Var operator()(Pass& pass, const Var& x, const Sequences& sequences, const Memory& memory,
                 const CrossAttentionCall& call = {}) const;

  // For inference: appends the keys and values of a memory to a cache, and attends to a cached memory.
  void cache_memory(Pass& pass, const Memory& memory, const KeyValueView& cache) const;
  Var operator()(Pass& pass, const Var& x, const CachedMemory& memory) const;

 private:
  // The inputs that a memory gives.
  AttentionInputs keys_and_values(Pass& pass, const Memory& memory) const;

  const Parts* parts_;
  AttentionShape shape_;  // of this rank's heads
  HeadRange heads_;
  DropoutSite dropout_;
  Linear query_, key_value_;
  QueryKeyNorm query_norm_, key_norm_;
  Linear output_;
};

}  // namespace heed
