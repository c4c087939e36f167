// Layers and stacks of layers: with self-attention only, and the decoder's, which also attends to a memory.
#pragma once

#include <optional>
#include <vector>

#include "nn/attention.h"
#include "nn/feed_forward.h"
#include "nn/norm.h"

namespace heed {

enum class FinalNorm : uint8_t { none, present };
enum class Keep : uint8_t {
  activations,
  layer_inputs
};  // layer_inputs: what is between them is recomputed in backward

struct StackShape {
  int64_t layers;
  AttentionShape attention;
  // Of self-attention, layer by layer, over and over; empty: attention.visibility in all layers.
  std::vector<VisibilityByHead> visibility;
  FeedForwardShape feed_forward;
  NormKind norm = NormKind::layer;
  NormPlacement placement = NormPlacement::pre;
  FinalNorm final_norm = FinalNorm::present;
  double epsilon = 1e-5;
  Probability dropout{0.0F};  // of each branch
  Keep keep = Keep::activations;
};

// Attention maps, one tensor per layer; see AttentionForward::weights. They must outlive the tape: a layer that is
// recomputed for its gradients fills them again.
struct AttentionMaps {
  std::vector<Tensor> self, cross;
};

// The options of one call of a stack.
struct StackCall {
  SelfMask self_mask;
  CrossMask cross_mask;
  AttentionMaps* maps = nullptr;
  const std::vector<KeyValueView>* caches = nullptr;  // of self-attention, one per layer; see SelfAttentionCall::cache
};

// The caches of a decoder that decodes in steps, one view per layer: of the target's tokens, including those of this
// call, and of the memory's sequences. `queries` says how many rows of queries read each of those sequences.
struct DecoderCaches {
  const std::vector<KeyValueView>& target;
  const std::vector<KeyValueView>& memory;
  const Segments& queries;
};

// Self-attention and feed-forward, each added to the residual: an encoder's layer and, with causal visibility, the
// layer of a decoder-only model.
class SelfAttentionLayer {
 public:
  SelfAttentionLayer(const Scope& scope, const StackShape& shape, Join join_attention, Join join_feed_forward);
  Stream operator()(Pass& pass, Stream stream, const Sequences& sequences, const SelfAttentionCall& self = {}) const;

 private:
  SelfAttention attention_;
  Join join_attention_;
  FeedForward feed_forward_;
  Join join_feed_forward_;
};

// Self-attention, cross-attention to a memory, feed-forward: the layer of an encoder-decoder's decoder.
class DecoderLayer {
 public:
  DecoderLayer(const Scope& scope, const StackShape& shape, Join join_self, Join join_cross, Join join_feed_forward);
  Stream operator()(Pass& pass, Stream stream, const Sequences& target, const Memory& memory,
                    const SelfAttentionCall& self = {}, const CrossAttentionCall& cross = {}) const;

  // Decoding in steps.
  void cache_memory(Pass& pass, const Memory& memory, const KeyValueView& cache) const {
    cross_attention_.cache_memory(pass, memory, cache);
  }
  Stream operator()(Pass& pass, Stream stream, const Sequences& target, const CachedMemory& memory,
                    const SelfAttentionCall& self) const;

 private:
  SelfAttention self_attention_;
  Join join_self_;
  CrossAttention cross_attention_;
  Join join_cross_;
  FeedForward feed_forward_;
  Join join_feed_forward_;
};

// The norms of a stack, in the order of the residual stream, and the joins built from them. With n sublayers,
//   pre:  norm 0 before sublayer 0, norm i + 1 after sublayer i; the last one is the final norm, if there is one;
//   post: norm i after sublayer i, and a final norm at the end, if there is one.
class NormChain {
 public:
  // `names` are the sublayers' scopes, in order.
  NormChain(const Scope& scope, const StackShape& shape, const std::vector<Scope>& sublayers);

  Stream enter(Pass& pass, const Var& embedded) const;
  Join join(int64_t sublayer) const { return joins_[static_cast<size_t>(sublayer)]; }
  Var leave(Pass& pass, const Stream& stream) const;

 private:
  NormPlacement placement_;
  std::vector<Norm> norms_;  // one per sublayer
  std::optional<Norm> final_;
  std::vector<Join> joins_;
};

class SelfAttentionStack {
 public:
  SelfAttentionStack(const Scope& scope, const StackShape& shape);
  Hidden operator()(Pass& pass, const Var& embedded, const Sequences& sequences, const StackCall& call = {}) const;

 private:
  Keep keep_;
  NormChain norms_;
  std::vector<SelfAttentionLayer> layers_;
};

class Decoder {
 public:
  Decoder(const Scope& scope, const StackShape& shape);
  Hidden operator()(Pass& pass, const Var& embedded, const Sequences& target, const Memory& memory,
                    const StackCall& call = {}) const;

  // Decoding in steps: the layers' keys and values of a memory are cached once; then each call takes the new tokens.
  void cache_memory(Pass& pass, const Memory& memory, const std::vector<KeyValueView>& caches) const;
  Hidden operator()(Pass& pass, const Var& embedded, const Sequences& target, const DecoderCaches& caches) const;

 private:
  Keep keep_;
  NormChain norms_;
  std::vector<DecoderLayer> layers_;
};

}  // namespace heed
