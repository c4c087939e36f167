#include "models/seq2seq.h"

namespace heed {
namespace {

WeightUse use_of_table(Tying tying, Tying least) {
  return tying >= least ? WeightUse::product_and_table : WeightUse::table;
}

}  // namespace

Seq2Seq::Seq2Seq(const Scope& scope, const ModelConfig& config, const StageRanges& layers)
    : source_(scope / "source",
              embedding_options(config, config.source_vocabulary, use_of_table(config.tying, Tying::all))),
      target_(scope / "target",
              embedding_options(config, config.target_vocabulary, use_of_table(config.tying, Tying::output),
                                config.tying == Tying::all ? &source_.table() : nullptr)),
      encoder_(scope / "encoder", stack_shape(scope / "encoder", config, Stack::encoder)),
      decoder_(scope / "decoder", stack_shape(scope / "decoder", config, Stack::decoder)),
      output_(output_weights(scope / "output", config, config.target_vocabulary,
                             config.tying == Tying::none ? nullptr : &target_.table())),
      cap_{config.logit_cap},
      divided_(&scope.parts(), config.target_vocabulary),
      layers_(layers) {}

Memory Seq2Seq::encode(Pass& pass, const SourceSequences& source, const StackCall& call) const {
  return {encoder_(pass, source_(pass, source), source, call), &source.segments()};
}

Hidden Seq2Seq::decode(Pass& pass, const TargetSequences& target, const Memory& memory, const StackCall& call) const {
  return decoder_(pass, target_(pass, target), target, memory, call);
}

Hidden Seq2Seq::decode_next(Pass& pass, const TargetSequences& target, const DecoderCaches& caches) const {
  return decoder_(pass, target_(pass, target), target, caches);
}

Logits Seq2Seq::logits(Pass& pass, const Hidden& hidden) const {
  ensure(!divided_.is_divided(), "model", "logits over a vocabulary of which this rank has a part");
  return output_logits(pass, hidden, output_, cap_);
}

// Nothing in a stage before the last.
Hidden Seq2Seq::hidden_of_stage(Pass& pass, const PairBatch& batch) const {
  StageEnds& ends = *pass.ends();
  Memory memory{Hidden(ends.in(Crossing::memory)), &batch.source.segments()};
  if (!layers_.encoder.empty()) {
    const Stream begin = layers_.encoder.first == 0
                             ? encoder_.enter(pass, embedded_tokens(pass, Crossing::source, source_, batch.source))
                             : stream_in(pass);
    const Stream end = encoder_.run(pass, begin, layers_.encoder, batch.source);
    if (layers_.encoder.end < encoder_.size()) {
      pass_on(pass, end);
      return {};
    }
    memory.hidden = encoder_.leave(pass, end);
  }
  const bool is_last = layers_.decoder.end == decoder_.size();
  if (!is_last) {
    ends.out(Crossing::memory) = memory.hidden.var();
  }
  if (layers_.decoder.empty()) {
    return {};
  }
  const Stream begin = layers_.decoder.first == 0
                           ? decoder_.enter(pass, embedded_tokens(pass, Crossing::target, target_, batch.target))
                           : stream_in(pass);
  const Stream end = decoder_.run(pass, begin, layers_.decoder, batch.target, memory);
  if (is_last) {
    return decoder_.leave(pass, end);
  }
  pass_on(pass, end);
  return {};
}

TokenLosses Seq2Seq::loss(Pass& pass, const PairBatch& batch, Smoothing smoothing, const Seq2SeqCall& call) const {
  if (pass.ends() != nullptr) {
    const Hidden rows = hidden_of_stage(pass, batch);
    return rows.var().empty() ? TokenLosses::none()
                              : output_loss(pass, rows, output_, batch.expected, {smoothing, cap_, divided_});
  }
  const Memory memory = encode(pass, batch.source, call.encoder);
  return output_loss(pass, decode(pass, batch.target, memory, call.decoder), output_, batch.expected,
                     {smoothing, cap_, divided_});
}

}  // namespace heed
