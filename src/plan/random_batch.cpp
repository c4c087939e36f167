#include "plan/random_batch.h"

#include "parallel/stage_run.h"

namespace heed {
namespace {

std::vector<int32_t> random_tokens(int64_t count, int64_t vocabulary, RandomKey key) {
  std::vector<int32_t> tokens(static_cast<size_t>(count));
  uint64_t draw = 0;
  for (int32_t& token : tokens) {
    token = static_cast<int32_t>(uniform_draw(key, draw++) * static_cast<double>(vocabulary));
  }
  return tokens;
}

}  // namespace

RandomBatch::RandomBatch(const ModelConfig& config, const PlanBatch& shape, uint64_t seed)
    : shape_(shape),
      is_pair_(config.architecture == Architecture::seq2seq),
      head_(config.architecture == Architecture::encoder ? config.head : Head::tokens) {
  const RandomKey key{seed};
  const auto sequences = [&](std::string_view what, int64_t length, int64_t vocabulary) {
    return Sequences(random_tokens(shape.sequences * length, vocabulary, key.derive(what)),
                     Segments::equal(shape.sequences, length));
  };
  const bool decodes = shape.target_length > 0;
  const int64_t length = decodes ? shape.target_length : shape.source_length;
  const int64_t vocabulary = decodes ? config.target_vocabulary : config.source_vocabulary;
  const int64_t outputs = head_ == Head::tokens ? vocabulary : config.encoder_outputs();
  const bool of_texts = head_ != Head::tokens && head_ != Head::token_labels;
  stream_ = sequences("tokens", length, vocabulary);
  if (is_pair_) {
    source_ = sequences("source", shape.source_length, config.source_vocabulary);
  }
  expected_ = Targets(random_tokens(shape.sequences * (of_texts ? 1 : length), outputs, key.derive("expected")));
  if (of_texts) {
    values_ = {std::vector<double>(static_cast<size_t>(shape.sequences * outputs)), outputs};
  }
}

TokenLosses RandomBatch::loss(Pass& pass, const AnyModel& model, Smoothing smoothing) const {
  StageEnds ends;
  const StageRanges all = StagePlan(model.config(), 1).layers_of(0);
  return loss_of_hidden(pass, model, *run_stage(pass, model, all, texts(), ends), smoothing);
}

TokenLosses RandomBatch::loss_of_hidden(Pass& pass, const AnyModel& model, const Hidden& hidden,
                                        Smoothing smoothing) const {
  if (head_ == Head::tokens || head_ == Head::token_labels) {
    return model.visit([&](const auto& one) { return one.loss(pass, hidden, expected_, smoothing); });
  }
  const EncoderOnly& encoder = model.encoder_only();
  const Hidden pooled = encoder.pooled(pass, hidden, stream_.segments());
  return head_ == Head::one_label ? encoder.loss(pass, pooled, expected_, smoothing)
                                  : encoder.loss(pass, pooled, values_);
}

}  // namespace heed
