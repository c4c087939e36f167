#include "nn/layers.h"

#include <array>

#include "ops/recompute.h"

namespace heed {
namespace {

constexpr std::array kSelfAttentionSublayers{"attention", "feed_forward"};
constexpr std::array kDecoderSublayers{"self_attention", "cross_attention", "feed_forward"};

// The scopes of all sublayers of a stack, in order.
template <size_t N>
std::vector<Scope> sublayers_of(const Scope& scope, int64_t layers, const std::array<const char*, N>& names) {
  std::vector<Scope> scopes;
  for (int64_t layer = 0; layer < layers; ++layer) {
    for (const char* name : names) {
      scopes.push_back(scope / "layers" / layer / name);
    }
  }
  return scopes;
}

// Positions of a target and a memory have nothing to do with each other.
AttentionShape without_positions(AttentionShape shape) {
  shape.rotary = {};
  shape.relative = nullptr;
  shape.visibility = Visibility::full();
  return shape;
}

// The shape of one layer.
StackShape shape_of_layer(StackShape shape, int64_t layer) {
  if (!shape.visibility.empty()) {
    shape.attention.visibility = shape.visibility[static_cast<size_t>(layer) % shape.visibility.size()];
  }
  return shape;
}

// Runs a layer, either saving its activations, or saving only its inputs and recomputing the rest in backward.
template <class Layer>
Stream run_layer(Pass& pass, const Stream& stream, Keep keep, std::vector<Var> more, Layer layer) {
  if (keep == Keep::activations) {
    return layer(pass, stream, more);
  }
  // In post-norm the two are the same Var, and each Var must be passed in, and out, once.
  const bool one = stream.residual.same_as(stream.normed);
  std::vector<Var> inputs{stream.residual};
  if (!one) {
    inputs.push_back(stream.normed);
  }
  inputs.insert(inputs.end(), more.begin(), more.end());
  const size_t own = one ? 1 : 2;
  const auto body = [layer, one, own](Pass& replay, const std::vector<Var>& vars) {
    const Stream in{vars[0], one ? vars[0] : vars[1]};
    const Stream out = layer(replay, in, std::vector<Var>(vars.begin() + static_cast<int64_t>(own), vars.end()));
    return out.residual.same_as(out.normed) ? std::vector<Var>{out.residual}
                                            : std::vector<Var>{out.residual, out.normed};
  };
  const std::vector<Var> outputs = recomputed(pass, std::move(inputs), body);
  return {outputs.front(), outputs.back()};
}

SelfAttentionCall self_call(const StackCall& call, size_t layer) {
  return {.mask = call.self_mask,
          .weights = call.maps == nullptr ? nullptr : &call.maps->self[layer],
          .cache = call.caches == nullptr ? nullptr : &(*call.caches)[layer]};
}

CrossAttentionCall cross_call(const StackCall& call, size_t layer) {
  return {.mask = call.cross_mask, .weights = call.maps == nullptr ? nullptr : &call.maps->cross[layer]};
}

void make_room_for_maps(const StackCall& call, size_t layers) {
  if (call.maps != nullptr) {
    call.maps->self.resize(layers);
    call.maps->cross.resize(layers);
  }
}

}  // namespace

SelfAttentionLayer::SelfAttentionLayer(const Scope& scope, const StackShape& shape, Join join_attention,
                                       Join join_feed_forward)
    : attention_(scope / "attention", shape.attention),
      join_attention_(join_attention),
      feed_forward_(scope / "feed_forward", shape.feed_forward),
      join_feed_forward_(join_feed_forward) {}

Stream SelfAttentionLayer::operator()(Pass& pass, Stream stream, const Sequences& sequences,
                                      const SelfAttentionCall& self) const {
  stream = join_attention_(pass, stream.residual, attention_(pass, stream.normed, sequences, self));
  return join_feed_forward_(pass, stream.residual, feed_forward_(pass, stream.normed));
}

DecoderLayer::DecoderLayer(const Scope& scope, const StackShape& shape, Join join_self, Join join_cross,
                           Join join_feed_forward)
    : self_attention_(scope / "self_attention", shape.attention),
      join_self_(join_self),
      cross_attention_(scope / "cross_attention", without_positions(shape.attention)),
      join_cross_(join_cross),
      feed_forward_(scope / "feed_forward", shape.feed_forward),
      join_feed_forward_(join_feed_forward) {}

Stream DecoderLayer::operator()(Pass& pass, Stream stream, const Sequences& target, const Memory& memory,
                                const SelfAttentionCall& self, const CrossAttentionCall& cross) const {
  stream = join_self_(pass, stream.residual, self_attention_(pass, stream.normed, target, self));
  stream = join_cross_(pass, stream.residual, cross_attention_(pass, stream.normed, target, memory, cross));
  return join_feed_forward_(pass, stream.residual, feed_forward_(pass, stream.normed));
}

Stream DecoderLayer::operator()(Pass& pass, Stream stream, const Sequences& target, const CachedMemory& memory,
                                const SelfAttentionCall& self) const {
  stream = join_self_(pass, stream.residual, self_attention_(pass, stream.normed, target, self));
  stream = join_cross_(pass, stream.residual, cross_attention_(pass, stream.normed, memory));
  return join_feed_forward_(pass, stream.residual, feed_forward_(pass, stream.normed));
}

NormChain::NormChain(const Scope& scope, const StackShape& shape, const std::vector<Scope>& sublayers)
    : placement_(shape.placement) {
  const int64_t width = shape.attention.model;
  for (const Scope& sublayer : sublayers) {
    norms_.emplace_back(sublayer / "norm", width, shape.norm, shape.attention.bias, shape.epsilon);
  }
  if (shape.final_norm == FinalNorm::present) {
    final_.emplace(scope / "norm", width, shape.norm, shape.attention.bias, shape.epsilon);
  }
  for (size_t i = 0; i < sublayers.size(); ++i) {
    const Norm* after = &norms_[i];
    if (placement_ == NormPlacement::pre) {
      after = i + 1 < norms_.size() ? &norms_[i + 1] : final_ ? &*final_ : nullptr;
    }
    joins_.emplace_back(placement_, after, DropoutSite{sublayers[i].site("branch"), shape.dropout});
  }
}

Stream NormChain::enter(Pass& pass, const Var& embedded) const {
  if (placement_ == NormPlacement::post || norms_.empty()) {
    return {embedded, embedded};
  }
  return {embedded, norms_.front()(pass, embedded)};
}

Var NormChain::leave(Pass& pass, const Stream& stream) const {
  // In pre-norm the last join has applied the final norm already.
  const bool pending = final_ && (placement_ == NormPlacement::post || norms_.empty());
  return pending ? (*final_)(pass, stream.normed) : stream.normed;
}

SelfAttentionStack::SelfAttentionStack(const Scope& scope, const StackShape& shape)
    : keep_(shape.keep), norms_(scope, shape, sublayers_of(scope, shape.layers, kSelfAttentionSublayers)) {
  for (int64_t layer = 0; layer < shape.layers; ++layer) {
    layers_.emplace_back(scope / "layers" / layer, shape_of_layer(shape, layer), norms_.join(2 * layer),
                         norms_.join(2 * layer + 1));
  }
}

Hidden SelfAttentionStack::operator()(Pass& pass, const Var& embedded, const Sequences& sequences,
                                      const StackCall& call) const {
  make_room_for_maps(call, layers_.size());
  Stream stream = norms_.enter(pass, embedded);
  for (size_t i = 0; i < layers_.size(); ++i) {
    const SelfAttentionCall self = self_call(call, i);
    stream =
        run_layer(pass, stream, keep_, {}, [&layer = layers_[i], &sequences, self](Pass& p, Stream s, const auto&) {
          return layer(p, std::move(s), sequences, self);
        });
  }
  return Hidden(norms_.leave(pass, stream));
}

Decoder::Decoder(const Scope& scope, const StackShape& shape)
    : keep_(shape.keep), norms_(scope, shape, sublayers_of(scope, shape.layers, kDecoderSublayers)) {
  for (int64_t layer = 0; layer < shape.layers; ++layer) {
    layers_.emplace_back(scope / "layers" / layer, shape_of_layer(shape, layer), norms_.join(3 * layer),
                         norms_.join(3 * layer + 1), norms_.join(3 * layer + 2));
  }
}

Hidden Decoder::operator()(Pass& pass, const Var& embedded, const Sequences& target, const Memory& memory,
                           const StackCall& call) const {
  make_room_for_maps(call, layers_.size());
  Stream stream = norms_.enter(pass, embedded);
  for (size_t i = 0; i < layers_.size(); ++i) {
    const SelfAttentionCall self = self_call(call, i);
    const CrossAttentionCall cross = cross_call(call, i);
    const auto layer = [&layer = layers_[i], &target, segments = memory.segments, self, cross](
                           Pass& p, Stream s, const std::vector<Var>& more) {
      return layer(p, std::move(s), target, Memory{Hidden(more.front()), segments}, self, cross);
    };
    stream = run_layer(pass, stream, keep_, {memory.hidden.var()}, layer);
  }
  return Hidden(norms_.leave(pass, stream));
}

void Decoder::cache_memory(Pass& pass, const Memory& memory, const std::vector<KeyValueView>& caches) const {
  ensure(caches.size() == layers_.size(), "decoder", "{} caches for {} layers", caches.size(), layers_.size());
  for (size_t i = 0; i < layers_.size(); ++i) {
    layers_[i].cache_memory(pass, memory, caches[i]);
  }
}

Hidden Decoder::operator()(Pass& pass, const Var& embedded, const Sequences& target,
                           const DecoderCaches& caches) const {
  ensure(caches.target.size() == layers_.size() && caches.memory.size() == layers_.size(), "decoder",
         "caches of {} and {} layers for {}", caches.target.size(), caches.memory.size(), layers_.size());
  Stream stream = norms_.enter(pass, embedded);
  for (size_t i = 0; i < layers_.size(); ++i) {
    stream = layers_[i](pass, std::move(stream), target, CachedMemory{&caches.memory[i], &caches.queries},
                        {.cache = &caches.target[i]});
  }
  return Hidden(norms_.leave(pass, stream));
}

}  // namespace heed
