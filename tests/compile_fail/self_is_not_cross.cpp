// What belongs to self-attention can't stand where cross-attention's belongs, and the other way round.
#include "nn/layers.h"

using namespace heed;

StackCall good(const AttentionMask& self, const AttentionMask& cross) {
  return {.self_mask = SelfMask(self), .cross_mask = CrossMask(cross)};
}

#ifdef HEED_BAD
// expect-error: no match for 'operator='.*'heed::SelfMask' and 'const heed::CrossMask'
// expect-error: no match for 'operator='.*'heed::CrossMask' and 'const heed::SelfMask'
// expect-error: no match for call to '\(const heed::DecoderLayer\)
void cross_for_self(StackCall& call, const CrossMask& cross) { call.self_mask = cross; }
void self_for_cross(StackCall& call, const SelfMask& self) { call.cross_mask = self; }
Stream swapped_calls(Pass& pass, const DecoderLayer& layer, const Stream& stream, const Sequences& target,
                     const Memory& memory, const SelfAttentionCall& self, const CrossAttentionCall& cross) {
  return layer(pass, stream, target, memory, cross, self);
}
#endif
