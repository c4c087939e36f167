#include "quant/calibration.h"

#include <algorithm>

#include "checkpoint/weights.h"
#include "models/any_model.h"
#include "models/without_dropout.h"
#include "nn/weights/trainables.h"

namespace heed {
namespace {

constexpr int64_t kBatchTokens = 512;

// Sentences that are run together, [first, end).
struct BatchRange {
  size_t first, end;
};

std::vector<BatchRange> batches_of(const CalibrationTokens& tokens) {
  std::vector<BatchRange> batches;
  int64_t room = 0;
  for (size_t i = 0; i < tokens.texts.size(); ++i) {
    const auto more = static_cast<int64_t>(tokens.texts[i].size());
    if (batches.empty() || more > room) {
      batches.push_back({i, i});
      room = kBatchTokens;
    }
    batches.back().end = i + 1;
    room -= more;
  }
  return batches;
}

std::vector<std::vector<int32_t>> part_of(const std::vector<std::vector<int32_t>>& all, const BatchRange& range) {
  return {all.begin() + static_cast<int64_t>(range.first), all.begin() + static_cast<int64_t>(range.end)};
}

struct CalibrationBatch {
  const CalibrationTokens& tokens;
  BatchRange range;
  Head head;
  Pooling text_pooling;
};

void run(Pass& pass, const Seq2Seq& model, const CalibrationBatch& batch) {
  const SourceSequences sources(part_of(batch.tokens.texts, batch.range));
  const TargetSequences targets(part_of(batch.tokens.inputs, batch.range));
  const Memory memory = model.encode(pass, sources);
  model.logits(pass, model.decode(pass, targets, memory));
}

void run(Pass& pass, const CausalLM& model, const CalibrationBatch& batch) {
  const Sequences texts(part_of(batch.tokens.texts, batch.range));
  model.logits(pass, model.hidden(pass, texts));
}

void run(Pass& pass, const EncoderOnly& model, const CalibrationBatch& batch) {
  const Sequences texts(part_of(batch.tokens.texts, batch.range));
  const bool of_tokens = batch.head == Head::tokens || batch.head == Head::token_labels;
  const Hidden rows = model.hidden(pass, texts);
  if (batch.head != Head::none) {
    model.logits(pass, of_tokens ? rows : model.pooled(pass, rows, texts.segments()));
  }
  model.text_embeddings(pass, rows, texts.segments(), batch.text_pooling);
}

}  // namespace

InputsByWeight calibrate(const ModelFolder& folder, const Calibration& wanted, Backend& backend) {
  CalibrationTokens tokens;
  ModelConfig own, config;
  {
    const StoredModel stored(folder, backend, DType::f32);
    own = stored.config();
    config = without_dropout(own);
    tokens = calibration_tokens(wanted.files, stored, backend);
  }
  // Products are seen where a tape records them, so the weights are held as training holds them.
  Weights weights;
  const AnyModel model(Scope(weights), config);
  Trainables trainables(backend, weights, DType::f32, Trainables::Gradients::none);
  load_masters(*open_weights(folder, own, BlocksAs::floats), backend, trainables);
  InputsByWeight inputs;
  InputObserver observer(backend, wanted.squares, inputs);
  for (const BatchRange& range : batches_of(tokens)) {
    require_uninterrupted(state_of(wanted.interruption), "calibration");
    Tape tape;
    tape.observe(observer);
    Pass pass = Pass::train(backend, DType::f32, tape, RandomKey{0});
    model.visit([&](const auto& one) { run(pass, one, {tokens, range, config.head, config.text_pooling}); });
  }
  return inputs;
}

}  // namespace heed
