#include "plan/random_batch.h"

namespace heed {
namespace {

std::vector<std::vector<int32_t>> random_sequences(int64_t count, int64_t length, int64_t vocabulary, RandomKey key) {
  std::vector sequences(static_cast<size_t>(count), std::vector<int32_t>(static_cast<size_t>(length)));
  uint64_t draw = 0;
  for (std::vector<int32_t>& sequence : sequences) {
    for (int32_t& token : sequence) {
      token = static_cast<int32_t>(uniform_draw(key, draw++) * static_cast<double>(vocabulary));
    }
  }
  return sequences;
}

}  // namespace

RandomBatch::RandomBatch(const ModelConfig& config, const PlanBatch& shape, uint64_t seed) {
  const RandomKey key{seed};
  const auto draw = [&](std::string_view what, int64_t length, int64_t vocabulary) {
    return Sequences(random_sequences(shape.sequences, length, vocabulary, key.derive(what)));
  };
  const bool decodes = shape.target_length > 0;
  const int64_t length = decodes ? shape.target_length : shape.source_length;
  const int64_t vocabulary = decodes ? config.target_vocabulary : config.source_vocabulary;
  const Sequences stream = draw("tokens", length, vocabulary), drawn = draw("expected", length, vocabulary);
  const Targets expected({drawn.tokens().ids().begin(), drawn.tokens().ids().end()});
  tokens_ = {stream, expected};
  if (config.architecture == Architecture::seq2seq) {
    pairs_ = {SourceSequences(draw("source", shape.source_length, config.source_vocabulary)), TargetSequences(stream),
              expected};
  }
}

TokenLosses RandomBatch::loss(Pass& pass, const AnyModel& model, Smoothing smoothing) const {
  return model.visit([&](const auto& one) { return loss(pass, one, smoothing); });
}

TokenLosses RandomBatch::loss(Pass& pass, const Seq2Seq& model, Smoothing smoothing) const {
  return model.loss(pass, pairs_, smoothing);
}

}  // namespace heed
