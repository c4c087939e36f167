// A decoder's caches of the target and of the memory can't be swapped.
#include "nn/layers.h"

using namespace heed;

DecoderCaches good(const TargetCaches& target, const MemoryCaches& memory, const Segments& queries) {
  return {target, memory, queries};
}

#ifdef HEED_BAD
// expect-error: could not convert '\{memory, target, queries\}' .*to 'heed::DecoderCaches'
// expect-error: could not convert '\{views, memory, queries\}' .*to 'heed::DecoderCaches'
DecoderCaches swapped(const TargetCaches& target, const MemoryCaches& memory, const Segments& queries) {
  return {memory, target, queries};
}
DecoderCaches of_no_role(const std::vector<KeyValueView>& views, const MemoryCaches& memory, const Segments& queries) {
  return {views, memory, queries};
}
#endif
