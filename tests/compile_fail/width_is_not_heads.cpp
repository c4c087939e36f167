// Strong numbers do not take each other's place, nor a plain number's.
#include "base/strong.h"

using namespace heed;

int64_t columns(Width width, Heads heads) { return width.value * heads.value; }
int64_t good() { return columns(Width{512}, Heads{8}); }

#ifdef HEED_BAD
// expect-error: could not convert .* to '(heed::Width|Strong<heed::(Width|TokenId)Tag)
int64_t swapped() { return columns(Heads{8}, Width{512}); }
int64_t plain() { return columns(512, Heads{8}); }
TokenId token(Width width) { return width; }
#endif
