#include "nn/layers.h"

#include <algorithm>

#include "ops/recompute.h"

namespace heed {
namespace {

// A sublayer, and its name in a layer's path.
struct NamedSublayer {
  std::string_view name;
  Sublayer sublayer;
};
constexpr NamedSublayer kOnlyAttention{"attention", Sublayer::self_attention};  // of a layer without cross-attention
constexpr NamedSublayer kSelfAttention{"self_attention", Sublayer::self_attention};
constexpr NamedSublayer kCrossAttention{"cross_attention", Sublayer::cross_attention};
constexpr NamedSublayer kFeedForward{"feed_forward", Sublayer::feed_forward};

Scope scope_of(const Scope& layer, const NamedSublayer& part) { return (layer / part.name).in(part.sublayer); }

// Positions of a target and a memory have nothing to do with each other, and a memory has no tokens.
AttentionShape without_positions(AttentionShape shape) {
  shape.rotary = {};
  shape.relative = nullptr;
  shape.relative_clip = 0;
  shape.value_table = nullptr;
  shape.kernel = AttentionKernel::softmax;
  shape.visibility = Visibility::full();
  return shape;
}

// The shape of one layer.
StackShape shape_of_layer(StackShape shape, int64_t layer) {
  if (!shape.of_layers.empty()) {
    const LayerOptions& own = shape.of_layers[static_cast<size_t>(layer)];
    shape.attention.kernel = own.kernel;
    shape.attention.visibility = own.visibility;
    shape.attention.rotary = own.rotary;
    shape.attention.key_value_heads = own.key_value_heads;
    shape.attention.value_table = own.value_table;
    shape.feed_forward.inner = own.inner;
  }
  return shape;
}

// Runs a layer, either saving its activations, or saving only its inputs and recomputing the rest in backward.
template <class Layer>
Stream run_layer(Pass& pass, const Stream& stream, Recompute recompute, std::vector<Var> more, Layer layer) {
  if (recompute == Recompute::nothing) {
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

bool wants_value_norms(const StackCall& call) {
  return call.maps != nullptr && call.maps->wanted == ValueNorms::wanted;
}

SelfAttentionCall self_call(const StackCall& call, size_t layer) {
  return {.mask = call.self_mask,
          .weights = call.maps == nullptr ? nullptr : &call.maps->self[layer],
          .value_norms = wants_value_norms(call) ? &call.maps->self_norms[layer] : nullptr,
          .cache = call.caches == nullptr ? nullptr : &(*call.caches)[layer]};
}

CrossAttentionCall cross_call(const StackCall& call, size_t layer) {
  return {.mask = call.cross_mask,
          .weights = call.maps == nullptr ? nullptr : &call.maps->cross[layer],
          .value_norms = wants_value_norms(call) ? &call.maps->cross_norms[layer] : nullptr};
}

std::variant<SelfAttention, Ssru> look_back_of(const Scope& scope, const StackShape& shape) {
  if (shape.autoregression == Autoregression::ssru) {
    return Ssru(scope, shape.attention);
  }
  return SelfAttention(scope, shape.attention);
}

void make_room_for_maps(const StackCall& call, size_t layers) {
  if (call.maps != nullptr) {
    call.maps->self.resize(layers);
    call.maps->cross.resize(layers);
    call.maps->self_norms.resize(layers);
    call.maps->cross_norms.resize(layers);
  }
}

}  // namespace

SelfAttentionLayer::SelfAttentionLayer(const Scope& scope, const StackShape& shape)
    : branches_(shape.branches),
      around_attention_(scope_of(scope, kOnlyAttention), shape.residual),
      attention_(scope_of(scope, kOnlyAttention), shape.attention),
      around_feed_forward_(shape.branches == Branches::parallel
                               ? Residual::without_norm(scope_of(scope, kFeedForward), shape.residual.dropout)
                               : Residual(scope_of(scope, kFeedForward), shape.residual)),
      feed_forward_(scope_of(scope, kFeedForward), shape.feed_forward) {}

Stream SelfAttentionLayer::operator()(Pass& pass, Stream stream, const Sequences& sequences,
                                      const SelfAttentionCall& self, const Norm* next) const {
  if (branches_ == Branches::sequential) {
    stream = around_attention_(pass, stream.residual, attention_(pass, stream.normed, sequences, self),
                               around_feed_forward_.input_norm());
    return around_feed_forward_(pass, stream.residual, feed_forward_(pass, stream.normed), next);
  }
  const Norm* const own_norm = around_feed_forward_.input_norm();
  const Var read = own_norm == nullptr ? stream.normed : (*own_norm)(pass, stream.residual);
  const Var attended =
      around_attention_(pass, stream.residual, attention_(pass, stream.normed, sequences, self), nullptr).residual;
  return around_feed_forward_(pass, attended, feed_forward_(pass, read), next);
}

DecoderLayer::DecoderLayer(const Scope& scope, const StackShape& shape)
    : around_self_(scope_of(scope, kSelfAttention), shape.residual),
      self_(look_back_of(scope_of(scope, kSelfAttention), shape)),
      around_cross_(scope_of(scope, kCrossAttention), shape.residual),
      cross_attention_(scope_of(scope, kCrossAttention), without_positions(shape.attention)),
      around_feed_forward_(scope_of(scope, kFeedForward), shape.residual),
      feed_forward_(scope_of(scope, kFeedForward), shape.feed_forward) {}

Var DecoderLayer::look_back(Pass& pass, const Var& x, const Sequences& target, const SelfAttentionCall& call) const {
  return std::visit([&](const auto& self) { return self(pass, x, target, call); }, self_);
}

Stream DecoderLayer::operator()(Pass& pass, Stream stream, const Sequences& target, const Memory& memory,
                                const SelfAttentionCall& self, const CrossAttentionCall& cross,
                                const Norm* next) const {
  stream =
      around_self_(pass, stream.residual, look_back(pass, stream.normed, target, self), around_cross_.input_norm());
  stream = around_cross_(pass, stream.residual, cross_attention_(pass, stream.normed, target, memory, cross),
                         around_feed_forward_.input_norm());
  return around_feed_forward_(pass, stream.residual, feed_forward_(pass, stream.normed), next);
}

Stream DecoderLayer::operator()(Pass& pass, Stream stream, const Sequences& target, const CachedMemory& memory,
                                const SelfAttentionCall& self, const Norm* next) const {
  stream =
      around_self_(pass, stream.residual, look_back(pass, stream.normed, target, self), around_cross_.input_norm());
  stream = around_cross_(pass, stream.residual, cross_attention_(pass, stream.normed, memory),
                         around_feed_forward_.input_norm());
  return around_feed_forward_(pass, stream.residual, feed_forward_(pass, stream.normed), next);
}

template <class Layer>
Layers<Layer>::Layers(const Scope& scope, const StackShape& shape)
    : placement_(shape.residual.placement), count_(static_cast<size_t>(shape.layers)) {
  const int64_t own = shape.shared == SharedLayers::yes ? std::min<int64_t>(1, shape.layers) : shape.layers;
  for (int64_t layer = 0; layer < own; ++layer) {
    layers_.emplace_back((scope / "layers" / layer).in_layer(layer), shape_of_layer(shape, layer));
  }
  for (int64_t layer = 0; shape.skips == Skips::mirrored && layer < shape.layers; ++layer) {
    skips_.emplace_back();
    if (shape.layers - 1 - layer < layer - 1) {
      skips_.back().emplace((scope / "layers" / layer / "skip").in_layer(layer), shape.residual.norm);
    }
  }
  if (shape.final_norm == FinalNorm::present) {
    final_norm_.emplace(scope / "norm", WeightRole::final_norm, shape.residual.norm);
  }
}

template <class Layer>
Stream Layers<Layer>::enter(Pass& pass, const Var& embedded) const {
  const Norm* const first = norm_before(0, size());
  return {embedded, first == nullptr ? embedded : (*first)(pass, embedded)};
}

template <class Layer>
template <class Run>
Stream Layers<Layer>::through(Pass& pass, Stream stream, size_t i, Run run) const {
  std::vector<Var> earlier = std::move(stream.earlier);
  if (adds_skip(i)) {
    ensure(!earlier.empty(), "stack", "layer {} adds the output of a layer that has not run", i);
    stream = (*skips_[i])(pass, stream.residual, earlier.back(), (*this)[i].input_norm());
    earlier.pop_back();
  }
  stream = run(std::move(stream));
  if (feeds_skip(i)) {
    earlier.push_back(stream.residual);
  }
  stream.earlier = std::move(earlier);
  return stream;
}

template <class Layer>
Var Layers<Layer>::leave(Pass& pass, const Stream& stream) const {
  const bool pending = final_norm_ && placement_ == NormPlacement::post;
  return pending ? (*final_norm_)(pass, stream.normed) : stream.normed;
}

SelfAttentionStack::SelfAttentionStack(const Scope& scope, const StackShape& shape)
    : recompute_(shape.recompute), layers_(scope, shape) {}

Hidden SelfAttentionStack::operator()(Pass& pass, const Var& embedded, const Sequences& sequences,
                                      const StackCall& call) const {
  const size_t layers = call.caches == nullptr ? layers_.size() : call.caches->size();
  ensure(layers <= layers_.size(), "stack", "{} caches for {} layers", layers, layers_.size());
  return leave(pass, run(pass, enter(pass, embedded), {0, layers}, sequences, call));
}

size_t SelfAttentionStack::size() const { return layers_.size(); }
Stream SelfAttentionStack::enter(Pass& pass, const Var& embedded) const { return layers_.enter(pass, embedded); }
Hidden SelfAttentionStack::leave(Pass& pass, const Stream& stream) const { return Hidden(layers_.leave(pass, stream)); }

Stream SelfAttentionStack::run(Pass& pass, Stream stream, LayerRange range, const Sequences& sequences,
                               const StackCall& call) const {
  const size_t layers = call.caches == nullptr ? layers_.size() : range.end;
  make_room_for_maps(call, layers);
  for (size_t i = range.first; i < range.end; ++i) {
    const SelfAttentionCall self = self_call(call, i);
    const auto layer = [&layer = layers_[i], &sequences, self, next = layers_.norm_before(i + 1, layers)](
                           Pass& p, Stream s, const auto&) { return layer(p, std::move(s), sequences, self, next); };
    stream = layers_.through(pass, std::move(stream), i,
                             [&](const Stream& in) { return run_layer(pass, in, recompute_, {}, layer); });
  }
  return stream;
}

Decoder::Decoder(const Scope& scope, const StackShape& shape)
    : parts_(&scope.parts()), recompute_(shape.recompute), layers_(scope, shape) {}

Hidden Decoder::operator()(Pass& pass, const Var& embedded, const Sequences& target, const Memory& memory,
                           const StackCall& call) const {
  return leave(pass, run(pass, enter(pass, embedded), {0, layers_.size()}, target, memory, call));
}

size_t Decoder::size() const { return layers_.size(); }
Stream Decoder::enter(Pass& pass, const Var& embedded) const { return layers_.enter(pass, embedded); }
Hidden Decoder::leave(Pass& pass, const Stream& stream) const { return Hidden(layers_.leave(pass, stream)); }

Stream Decoder::run(Pass& pass, Stream stream, LayerRange range, const Sequences& target, const Memory& memory,
                    const StackCall& call) const {
  make_room_for_maps(call, layers_.size());
  const Var shared = to_parts(pass, memory.hidden.var(), *parts_);  // once: its gradient is summed for all layers
  for (size_t i = range.first; i < range.end; ++i) {
    const SelfAttentionCall self = self_call(call, i);
    const CrossAttentionCall cross = cross_call(call, i);
    const auto layer = [&layer = layers_[i], &target, segments = memory.segments, self, cross,
                        next = layers_.norm_before(i + 1, layers_.size())](Pass& p, Stream s,
                                                                           const std::vector<Var>& more) {
      return layer(p, std::move(s), target, Memory{Hidden(more.front()), segments}, self, cross, next);
    };
    stream = layers_.through(pass, std::move(stream), i,
                             [&](const Stream& in) { return run_layer(pass, in, recompute_, {shared}, layer); });
  }
  return stream;
}

void Decoder::cache_memory(Pass& pass, const Memory& memory, const MemoryCaches& caches) const {
  ensure(caches.size() <= layers_.size(), "decoder", "{} caches for {} layers", caches.size(), layers_.size());
  for (size_t i = 0; i < caches.size(); ++i) {
    layers_[i].cache_memory(pass, memory, caches[i]);
  }
}

Hidden Decoder::operator()(Pass& pass, const Var& embedded, const Sequences& target,
                           const DecoderCaches& caches) const {
  const size_t layers = caches.target.size();
  ensure(layers <= layers_.size() && caches.memory.size() == layers, "decoder", "caches of {} and {} layers for {}",
         layers, caches.memory.size(), layers_.size());
  Stream stream = layers_.enter(pass, embedded);
  for (size_t i = 0; i < layers; ++i) {
    stream = layers_.through(pass, std::move(stream), i, [&](Stream in) {
      return layers_[i](pass, std::move(in), target, CachedMemory{&caches.memory[i], &caches.queries},
                        {.cache = &caches.target[i]}, layers_.norm_before(i + 1, layers));
    });
  }
  return Hidden(layers_.leave(pass, stream));
}

}  // namespace heed
