// Layers and stacks of layers: with self-attention only, and the decoder's, which also attends to a memory.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "nn/attention.h"
#include "nn/feed_forward.h"
#include "nn/norm.h"
#include "nn/ssru.h"

namespace heed {

enum class FinalNorm : uint8_t { none, present };
// How a token of a decoder that attends to a memory knows of those before it.
enum class Autoregression : uint8_t { attention, ssru };
// Whether all layers of a stack are one and the same, run over and over.
enum class SharedLayers : uint8_t { no, yes };
// parallel: attention and feed-forward read the same norm of x, x + attention(norm(x)) + feed_forward(norm(x)).
// parallel_own_norms: each reads a norm of its own, x + attention(norm1(x)) + feed_forward(norm2(x)).
enum class Branches : uint8_t { sequential, parallel, parallel_own_norms };
// mirrored: with L layers, counted from 0, layer j of the second half adds the output of layer L - 1 - j to its input,
// if that is not what it reads anyway.
enum class Skips : uint8_t { none, mirrored };
// layers: their inputs alone are kept, and what is between is computed again in backward.
enum class Recompute : uint8_t { nothing, layers };

// In what layers of one stack may differ.
struct LayerOptions {
  AttentionKernel kernel = AttentionKernel::softmax;  // of self-attention, as the next two
  VisibilityByHead visibility;
  Rotary rotary;
  int64_t key_value_heads;  // of cross-attention too
  int64_t inner;
  const Weight* value_table = nullptr;  // of self-attention
};

struct StackShape {
  int64_t layers;
  AttentionShape attention;
  FeedForwardShape feed_forward;
  std::vector<LayerOptions> of_layers;  // layer by layer; empty: all are as `attention` and `feed_forward` say
  Residual::Options residual;
  Branches branches = Branches::sequential;
  Skips skips = Skips::none;
  FinalNorm final_norm = FinalNorm::present;
  Recompute recompute = Recompute::nothing;
  SharedLayers shared = SharedLayers::no;
  Autoregression autoregression = Autoregression::attention;
};

enum class ValueNorms : uint8_t { left_out, wanted };

// Attention maps, one tensor per layer; see AttentionForward::weights. They must outlive the tape: a layer that is
// recomputed for its gradients fills them again.
struct AttentionMaps {
  std::vector<Tensor> self, cross;
  ValueNorms wanted = ValueNorms::left_out;
  std::vector<Tensor> self_norms = {}, cross_norms = {};  // where wanted; see CrossAttentionCall::value_norms
};

// Layers [first, end) of a stack.
struct LayerRange {
  size_t first = 0, end = 0;

  bool empty() const { return first == end; }
  bool operator==(const LayerRange&) const = default;
};

// The options of one call of a stack.
struct StackCall {
  SelfMask self_mask;
  CrossMask cross_mask;
  AttentionMaps* maps = nullptr;
  // Caches of self-attention, one per layer; see SelfAttentionCall::cache. With fewer than there are layers, the others
  // are left out: the final norm follows the last layer that has a cache.
  const std::vector<KeyValueView>* caches = nullptr;
};

// The caches of a decoder that decodes in steps, a view for each layer: of the target's tokens, including those of the
// call, and of the memory's sequences. They have different types, so that they can't be swapped.
template <class Rows>
class LayerCaches {
 public:
  explicit LayerCaches(const std::vector<KeyValueView>& layers) : layers_(&layers) {}

  size_t size() const { return layers_->size(); }
  const KeyValueView& operator[](size_t layer) const { return (*layers_)[layer]; }

 private:
  const std::vector<KeyValueView>* layers_;
};
using TargetCaches = LayerCaches<struct TargetRows>;
using MemoryCaches = LayerCaches<struct MemoryRows>;

// With fewer caches than there are layers, the others are left out. `queries` says how many rows of queries read each
// of the memory's sequences.
struct DecoderCaches {
  TargetCaches target;
  MemoryCaches memory;
  const Segments& queries;
};

// Self-attention and feed-forward, each added to the residual: an encoder's layer and, with causal visibility, the
// layer of a decoder-only model. `next` is the norm of what follows, or null.
class SelfAttentionLayer {
 public:
  SelfAttentionLayer(const Scope& scope, const StackShape& shape);
  Stream operator()(Pass& pass, Stream stream, const Sequences& sequences, const SelfAttentionCall& self,
                    const Norm* next) const;

  const Norm* input_norm() const { return around_attention_.input_norm(); }

 private:
  Branches branches_;
  Residual around_attention_;
  SelfAttention attention_;
  Residual around_feed_forward_;
  FeedForward feed_forward_;
};

// Self-attention or a recurrence, cross-attention to a memory, feed-forward: the layer of an encoder-decoder's decoder.
class DecoderLayer {
 public:
  DecoderLayer(const Scope& scope, const StackShape& shape);
  Stream operator()(Pass& pass, Stream stream, const Sequences& target, const Memory& memory,
                    const SelfAttentionCall& self, const CrossAttentionCall& cross, const Norm* next) const;

  // Decoding in steps.
  void cache_memory(Pass& pass, const Memory& memory, const KeyValueView& cache) const {
    cross_attention_.cache_memory(pass, memory, cache);
  }
  Stream operator()(Pass& pass, Stream stream, const Sequences& target, const CachedMemory& memory,
                    const SelfAttentionCall& self, const Norm* next) const;

  const Norm* input_norm() const { return around_self_.input_norm(); }

 private:
  Var look_back(Pass& pass, const Var& x, const Sequences& target, const SelfAttentionCall& call) const;

  Residual around_self_;
  std::variant<SelfAttention, Ssru> self_;
  Residual around_cross_;
  CrossAttention cross_attention_;
  Residual around_feed_forward_;
  FeedForward feed_forward_;
};

// A stack's layers between its ends: the first layer's norm of the embedded tokens, and the final norm; and the skips
// from one to another.
template <class Layer>
class Layers {
 public:
  Layers(const Scope& scope, const StackShape& shape);

  size_t size() const { return count_; }
  const Layer& operator[](size_t i) const { return layers_[i % layers_.size()]; }

  Stream enter(Pass& pass, const Var& embedded) const;
  // Runs layer i by run(stream), after its skip, and keeps the output for that of a later layer.
  template <class Run>
  Stream through(Pass& pass, Stream stream, size_t i, Run run) const;
  // What follows the layer before i: the norm of layer i's input, or after the last of `layers` the final one; null if
  // none, or if a skip comes first.
  const Norm* norm_before(size_t i, size_t layers) const {
    return i >= layers ? fused_final_norm() : adds_skip(i) ? nullptr : (*this)[i].input_norm();
  }
  Var leave(Pass& pass, const Stream& stream) const;

 private:
  // In post-norm the last layer ends with a norm of its own, and the final norm is an op of its own.
  const Norm* fused_final_norm() const {
    return final_norm_ && placement_ != NormPlacement::post ? &*final_norm_ : nullptr;
  }

  bool adds_skip(size_t i) const { return !skips_.empty() && skips_[i].has_value(); }
  bool feeds_skip(size_t i) const { return adds_skip(count_ - 1 - i) && i < count_ - 1 - i; }

  NormPlacement placement_;
  size_t count_;
  std::vector<Layer> layers_;               // one, where all are the same
  std::vector<std::optional<Skip>> skips_;  // empty: none has one
  std::optional<Norm> final_norm_;
};

class SelfAttentionStack {
 public:
  SelfAttentionStack(const Scope& scope, const StackShape& shape);
  Hidden operator()(Pass& pass, const Var& embedded, const Sequences& sequences, const StackCall& call = {}) const;

  // The same in parts, for a stack that is divided: what comes before the first layer, some layers, and what comes
  // after the last.
  size_t size() const;
  Stream enter(Pass& pass, const Var& embedded) const;
  Stream run(Pass& pass, Stream stream, LayerRange layers, const Sequences& sequences,
             const StackCall& call = {}) const;
  Hidden leave(Pass& pass, const Stream& stream) const;

 private:
  Recompute recompute_;
  Layers<SelfAttentionLayer> layers_;
};

class Decoder {
 public:
  Decoder(const Scope& scope, const StackShape& shape);
  Hidden operator()(Pass& pass, const Var& embedded, const Sequences& target, const Memory& memory,
                    const StackCall& call = {}) const;

  // In parts, as above.
  size_t size() const;
  Stream enter(Pass& pass, const Var& embedded) const;
  Stream run(Pass& pass, Stream stream, LayerRange layers, const Sequences& target, const Memory& memory,
             const StackCall& call = {}) const;
  Hidden leave(Pass& pass, const Stream& stream) const;

  // Decoding in steps: the layers' keys and values of a memory are cached once; then each call takes the new tokens.
  void cache_memory(Pass& pass, const Memory& memory, const MemoryCaches& caches) const;
  Hidden operator()(Pass& pass, const Var& embedded, const Sequences& target, const DecoderCaches& caches) const;

 private:
  const Parts* parts_;
  Recompute recompute_;
  Layers<DecoderLayer> layers_;
};

}  // namespace heed
