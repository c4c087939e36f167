#include "models/seq2seq.h"

namespace heed {
namespace {

WeightUse use_of_table(Tying tying, Tying least) {
  return tying >= least ? WeightUse::product_and_table : WeightUse::table;
}

}  // namespace

Seq2Seq::Seq2Seq(const Scope& scope, const ModelConfig& config)
    : source_((scope / "source").in(Stack::encoder),
              embedding_options(config, config.source_vocabulary, use_of_table(config.tying, Tying::all))),
      target_((scope / "target").in(Stack::decoder),
              embedding_options(config, config.target_vocabulary, use_of_table(config.tying, Tying::output),
                                config.tying == Tying::all ? &source_.table() : nullptr)),
      encoder_(stack_scope(scope, Stack::encoder),
               stack_shape(stack_scope(scope, Stack::encoder), config, Stack::encoder)),
      decoder_(stack_scope(scope, Stack::decoder),
               stack_shape(stack_scope(scope, Stack::decoder), config, Stack::decoder)),
      output_(scope / "output", config, config.target_vocabulary,
              config.tying == Tying::none ? nullptr : &target_.table()) {}

Memory Seq2Seq::encode(Pass& pass, const SourceSequences& source, const StackCall& call) const {
  return {encoder_(pass, source_(pass, source), source, call), &source.segments()};
}

Hidden Seq2Seq::decode(Pass& pass, const TargetSequences& target, const Memory& memory, const StackCall& call) const {
  return decoder_(pass, target_(pass, target), target, memory, call);
}

Logits Seq2Seq::logits(Pass& pass, const Hidden& hidden) const { return output_.logits(pass, hidden); }

TokenLosses Seq2Seq::loss(Pass& pass, const Hidden& hidden, const Targets& expected, Smoothing smoothing) const {
  return output_.loss(pass, hidden, expected, smoothing);
}

TokenLosses Seq2Seq::loss(Pass& pass, const PairBatch& batch, Smoothing smoothing, const Seq2SeqCall& call) const {
  const Memory memory = encode(pass, batch.source, call.encoder);
  return loss(pass, decode(pass, batch.target, memory, call.decoder), batch.expected, smoothing);
}

Hidden Seq2Seq::decode_next(Pass& pass, const TargetSequences& target, const DecoderCaches& caches) const {
  return decoder_(pass, target_(pass, target), target, caches);
}

}  // namespace heed
