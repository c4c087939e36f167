// The encoder-decoder and the options of its calls.
#pragma once

#include <span>

#include "models/batches.h"
#include "models/output_projection.h"
#include "models/stacks.h"

namespace heed {

// Masks supplied and maps requested by the caller.
struct Seq2SeqCall {
  StackCall encoder, decoder;
};

// The encoder-decoder of "Attention Is All You Need".
class Seq2Seq {
 public:
  Seq2Seq(const Scope& scope, const ModelConfig& config);

  // The segments of `source` must outlive everything computed from the memory, and the tape.
  Memory encode(Pass& pass, const SourceSequences& source, const StackCall& call = {}) const;
  Hidden decode(Pass& pass, const TargetSequences& target, const Memory& memory, const StackCall& call = {}) const;
  Logits logits(Pass& pass, const Hidden& hidden) const;
  TokenLosses loss(Pass& pass, const Hidden& hidden, const Targets& expected, Smoothing smoothing) const;
  TokenLosses loss(Pass& pass, const PairBatch& batch, Smoothing smoothing, const Seq2SeqCall& call = {}) const;

  // Decoding in steps; see Decoder.
  void cache_memory(Pass& pass, const Memory& memory, const MemoryCaches& caches) const {
    decoder_.cache_memory(pass, memory, caches);
  }
  Hidden decode_next(Pass& pass, const TargetSequences& target, const DecoderCaches& caches) const;

  // Its layers, for who runs them one by one.
  const Embedding& source_embedding() const { return source_; }
  const Embedding& target_embedding() const { return target_; }
  const SelfAttentionStack& encoder() const { return encoder_; }
  const Decoder& decoder() const { return decoder_; }
  const OutputProjection& output() const { return output_; }

  // The tape refers to the batch, so a temporary would not live long enough.
  Memory encode(Pass& pass, SourceSequences&& source, const StackCall& call = {}) const = delete;
  TokenLosses loss(Pass& pass, PairBatch&& batch, Smoothing smoothing, const Seq2SeqCall& call = {}) const = delete;

 private:
  Embedding source_, target_;
  SelfAttentionStack encoder_;
  Decoder decoder_;
  OutputProjection output_;
};

}  // namespace heed
