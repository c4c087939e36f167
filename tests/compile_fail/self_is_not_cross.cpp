// What belongs to self-attention can't stand where cross-attention's belongs.
#include "nn/layers.h"

using namespace heed;

StackCall good(const AttentionMask& self, const AttentionMask& cross) {
  return {.self_mask = SelfMask(self), .cross_mask = CrossMask(cross)};
}

#ifdef HEED_BAD
// expect-error: no match for 'operator='
// expect-error: no match for call to '\(const heed::DecoderLayer\)
void cross_for_self(StackCall& call, const CrossMask& cross) { call.self_mask = cross; }
Stream swapped_calls(Pass& pass, const DecoderLayer& layer, const Stream& stream, const Sequences& target,
                     const Memory& memory, const SelfAttentionCall& self, const CrossAttentionCall& cross) {
  return layer(pass, stream, target, memory, cross, self);
}
#endif
