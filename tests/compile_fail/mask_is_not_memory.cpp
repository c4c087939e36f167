// A mask can't stand where the memory belongs, nor the memory where the mask does.
#include "nn/layers.h"

using namespace heed;

Hidden good(Pass& pass, const Decoder& decoder, const Var& x, const Sequences& target, const Memory& memory,
            const AttentionMask& mask) {
  return decoder(pass, x, target, memory, {.cross_mask = CrossMask(mask)});
}

#ifdef HEED_BAD
// expect-error: no match for call to '\(const heed::Decoder\)
// expect-error: no matching function for call to 'heed::SelfMask::SelfMask\(const heed::Memory&\)'
Hidden mask_for_memory(Pass& pass, const Decoder& decoder, const Var& x, const Sequences& target,
                       const AttentionMask& mask) {
  return decoder(pass, x, target, mask);
}
void memory_for_mask(StackCall& call, const Memory& memory) { call.self_mask = SelfMask(memory); }
#endif
