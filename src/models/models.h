// The three architectures.
#pragma once

#include <vector>

#include "models/stacks.h"
#include "ops/loss.h"

namespace heed {

// A pair of source and target sequences, the latter as fed in (shifted right) and as expected.
struct PairBatch {
  Sequences source, target;
  Targets expected;
};

// A stream of sequences and what is expected at each token.
struct TokenBatch {
  Sequences tokens;
  Targets expected;
};

// Masks that a caller brings, and maps that it asks for.
struct Seq2SeqCall {
  StackCall encoder, decoder;
};

// The encoder-decoder of "Attention Is All You Need".
class Seq2Seq {
 public:
  Seq2Seq(const Scope& scope, const ModelConfig& config);

  // The segments of `source` must outlive what is made of the memory, and the tape.
  Memory encode(Pass& pass, const Sequences& source, const StackCall& call = {}) const;
  Hidden decode(Pass& pass, const Sequences& target, const Memory& memory, const StackCall& call = {}) const;
  Logits logits(Pass& pass, const Hidden& hidden) const;

  // Decoding in steps: what the decoder reads of a memory, once; then the tokens that came to be known, with caches.
  std::vector<ProjectedMemory> project(Pass& pass, const Memory& memory) const {
    return decoder_.project(pass, memory);
  }
  Hidden decode_next(Pass& pass, const Sequences& target, const std::vector<ProjectedMemory>& memory,
                     const StackCall& call) const;

  TokenLosses loss(Pass& pass, const PairBatch& batch, Smoothing smoothing, const Seq2SeqCall& call = {}) const;

  // What is recorded refers to the batch: a temporary would be gone by then.
  Memory encode(Pass& pass, Sequences&& source, const StackCall& call = {}) const = delete;
  TokenLosses loss(Pass& pass, PairBatch&& batch, Smoothing smoothing, const Seq2SeqCall& call = {}) const = delete;

 private:
  Embedding source_, target_;
  Encoder encoder_;
  Decoder decoder_;
  LinearWeights output_;
};

// One stack over one stream of tokens, projected back to its vocabulary.
class TokenModel {
 public:
  Hidden hidden(Pass& pass, const Sequences& tokens, const StackCall& call = {}) const;
  Logits logits(Pass& pass, const Hidden& hidden) const;
  TokenLosses loss(Pass& pass, const TokenBatch& batch, Smoothing smoothing, const StackCall& call = {}) const;
  // What is recorded refers to the batch: a temporary would be gone by then.
  TokenLosses loss(Pass& pass, TokenBatch&& batch, Smoothing smoothing, const StackCall& call = {}) const = delete;

 protected:
  TokenModel(const Scope& scope, const ModelConfig& config, int64_t vocabulary, const Scope& stack_scope,
             const StackShape& stack);

 private:
  Embedding embedding_;
  Encoder stack_;
  LinearWeights output_;
};

// A decoder without an encoder: each token sees those before it and predicts the next.
class CausalLM : public TokenModel {
 public:
  CausalLM(const Scope& scope, const ModelConfig& config);
};

// An encoder alone: each token sees all, and predicts itself where it was masked.
class EncoderOnly : public TokenModel {
 public:
  EncoderOnly(const Scope& scope, const ModelConfig& config);
};

}  // namespace heed
