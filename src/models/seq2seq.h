// The encoder-decoder, its batches and its options.
#pragma once

#include <vector>

#include "models/stacks.h"
#include "models/stages.h"
#include "ops/loss/loss.h"
#include "ops/loss/output_rows.h"

namespace heed {

// Pairs of source and target sequences; the target as input (shifted right) and as expected output.
struct PairBatch {
  SourceSequences source;
  TargetSequences target;
  Targets expected;
};

// Masks supplied and maps requested by the caller.
struct Seq2SeqCall {
  StackCall encoder, decoder;
};

// The encoder-decoder of "Attention Is All You Need".
class Seq2Seq {
 public:
  Seq2Seq(const Scope& scope, const ModelConfig& config, const StageRanges& layers);

  // The segments of `source` must outlive everything computed from the memory, and the tape.
  Memory encode(Pass& pass, const SourceSequences& source, const StackCall& call = {}) const;
  Hidden decode(Pass& pass, const TargetSequences& target, const Memory& memory, const StackCall& call = {}) const;
  Logits logits(Pass& pass, const Hidden& hidden) const;
  // Over some tokens alone.
  OutputRows output_rows(const Pass& pass, std::span<const int32_t> tokens) const { return {pass, output_, tokens}; }
  Logits logits_of_tokens(Pass& pass, ConstView hidden, const OutputRows& tokens) const {
    return output_logits(pass, hidden, tokens, cap_);
  }

  // Decoding in steps; see Decoder.
  void cache_memory(Pass& pass, const Memory& memory, const MemoryCaches& caches) const {
    decoder_.cache_memory(pass, memory, caches);
  }
  Hidden decode_next(Pass& pass, const TargetSequences& target, const DecoderCaches& caches) const;

  // In a stage before the last there is no result; see Pass::set_ends.
  TokenLosses loss(Pass& pass, const PairBatch& batch, Smoothing smoothing, const Seq2SeqCall& call = {}) const;
  // Embedded tokens for another stage.
  Var embed(Pass& pass, Crossing what, const Sequences& tokens) const {
    return (what == Crossing::source ? source_ : target_)(pass, tokens);
  }

  // The tape refers to the batch, so a temporary would not live long enough.
  Memory encode(Pass& pass, SourceSequences&& source, const StackCall& call = {}) const = delete;
  TokenLosses loss(Pass& pass, PairBatch&& batch, Smoothing smoothing, const Seq2SeqCall& call = {}) const = delete;

 private:
  Hidden hidden_of_stage(Pass& pass, const PairBatch& batch) const;

  Embedding source_, target_;
  SelfAttentionStack encoder_;
  Decoder decoder_;
  LinearWeights output_;
  SoftCapAt cap_;  // of the logits
  DividedVocabulary divided_;
  StageRanges layers_;  // those that this stage runs
};

}  // namespace heed
