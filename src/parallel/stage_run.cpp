#include "parallel/stage_run.h"

namespace heed {
namespace {

// The stream of a stage that begins between two layers.
Stream stream_in(StageEnds& ends) {
  const Var& residual = ends.in(BoundaryTensor::residual);
  const Var& normed = ends.in(BoundaryTensor::normed);
  return {residual, normed.empty() ? residual : normed};
}

void pass_on(const Stream& stream, StageEnds& ends) {
  ends.out(BoundaryTensor::residual) = stream.residual;
  if (!stream.normed.same_as(stream.residual)) {
    ends.out(BoundaryTensor::normed) = stream.normed;
  }
}

// What a stack reads, and the table of its tokens.
struct StackTokens {
  const Sequences& tokens;
  const Embedding& embedding;
  BoundaryTensor embedded;
};

Var embedded(Pass& pass, const StackTokens& input, StageEnds& ends) {
  const Var& came_in = ends.in(input.embedded);
  return came_in.empty() ? input.embedding(pass, input.tokens) : came_in;
}

// Some layers of a stack; what it leaves if its last layer is among them. A decoder's layers also read `memory`.
template <class Stack, class... Memory>
std::optional<Hidden> run_layers(Pass& pass, const Stack& stack, LayerRange layers, const StackTokens& input,
                                 StageEnds& ends, const Memory&... memory) {
  const Stream begin = layers.first == 0 ? stack.enter(pass, embedded(pass, input, ends)) : stream_in(ends);
  const Stream end = stack.run(pass, begin, layers, input.tokens, memory...);
  if (layers.end == stack.size()) {
    return stack.leave(pass, end);
  }
  pass_on(end, ends);
  return std::nullopt;
}

std::optional<Hidden> run_model(Pass& pass, const Seq2Seq& model, const StageRanges& layers, const ShardTexts& texts,
                                StageEnds& ends) {
  Memory memory{Hidden(ends.in(BoundaryTensor::memory)), &texts.source.segments()};
  if (!layers.encoder.empty()) {
    const std::optional<Hidden> encoded = run_layers(
        pass, model.encoder(), layers.encoder, {texts.source, model.source_embedding(), BoundaryTensor::source}, ends);
    if (!encoded) {
      return std::nullopt;
    }
    memory.hidden = *encoded;
  }
  if (layers.decoder.end < model.decoder().size()) {
    ends.out(BoundaryTensor::memory) = memory.hidden.var();
  }
  if (layers.decoder.empty()) {
    return std::nullopt;
  }
  return run_layers(pass, model.decoder(), layers.decoder,
                    {texts.target, model.target_embedding(), BoundaryTensor::target}, ends, memory);
}

std::optional<Hidden> run_model(Pass& pass, const CausalLM& model, const StageRanges& layers, const ShardTexts& texts,
                                StageEnds& ends) {
  return run_layers(pass, model.stack(), layers.decoder, {texts.source, model.embedding(), BoundaryTensor::source},
                    ends);
}

std::optional<Hidden> run_model(Pass& pass, const EncoderOnly& model, const StageRanges& layers,
                                const ShardTexts& texts, StageEnds& ends) {
  return run_layers(pass, model.stack(), layers.encoder, {texts.source, model.embedding(), BoundaryTensor::source},
                    ends);
}

const Embedding& embedding_in(const Seq2Seq& model, BoundaryTensor tokens) {
  return tokens == BoundaryTensor::source ? model.source_embedding() : model.target_embedding();
}

template <class Model>
const Embedding& embedding_in(const Model& model, BoundaryTensor) {
  return model.embedding();
}

}  // namespace

std::optional<Hidden> run_stage(Pass& pass, const AnyModel& model, const StageRanges& layers, const ShardTexts& texts,
                                StageEnds& ends) {
  return model.visit([&](const auto& one) { return run_model(pass, one, layers, texts, ends); });
}

const Embedding& embedding_of(const AnyModel& model, BoundaryTensor tokens) {
  return model.visit([&](const auto& one) -> const Embedding& { return embedding_in(one, tokens); });
}

}  // namespace heed
