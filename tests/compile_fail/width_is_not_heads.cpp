// Strong numbers do not take each other's place, nor a plain number's.
#include "base/strong.h"

using namespace heed;

int64_t columns(Width width, Heads heads, Layers layers) { return width.value * heads.value * layers.value; }
int64_t good() { return columns(Width{512}, Heads{8}, Layers{6}); }

#ifdef HEED_BAD
// expect-error: could not convert .* to '(heed::Width|Strong<heed::(Width|TokenId)Tag)
int64_t swapped() { return columns(Heads{8}, Width{512}, Layers{6}); }
int64_t plain() { return columns(512, Heads{8}, Layers{6}); }
TokenId token(Width width) { return width; }
#endif
