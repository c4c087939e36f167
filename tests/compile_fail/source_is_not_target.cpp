// The source can't be decoded, nor the target encoded.
#include "models/seq2seq.h"

using namespace heed;

Hidden good(Pass& pass, const Seq2Seq& model, const PairBatch& batch) {
  return model.decode(pass, batch.target, model.encode(pass, batch.source));
}

#ifdef HEED_BAD
// expect-error: no matching function for call to 'heed::Seq2Seq::encode\(heed::Pass&, const heed::TargetSequences&
// expect-error: cannot convert 'const heed::SourceSequences' to 'const heed::TargetSequences&'
Memory target_for_source(Pass& pass, const Seq2Seq& model, const PairBatch& batch) {
  return model.encode(pass, batch.target);
}
Hidden source_for_target(Pass& pass, const Seq2Seq& model, const PairBatch& batch, const Memory& memory) {
  return model.decode(pass, batch.source, memory);
}
#endif
