// A decoder attends to an encoder's memory, which knows its sequences; a hidden state does not.
#include "models/any_model.h"

using namespace heed;

Hidden good(Pass& pass, const Seq2Seq& model, const SourceSequences& source, const TargetSequences& target) {
  return model.decode(pass, target, model.encode(pass, source));
}

#ifdef HEED_BAD
// expect-error: cannot convert 'const heed::Hidden' .*to 'const heed::Memory&'
Hidden bad(Pass& pass, const Seq2Seq& model, const TargetSequences& target, const Hidden& hidden) {
  return model.decode(pass, target, hidden);
}
#endif
