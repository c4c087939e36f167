#include "api/inspect/probe_batch.h"

#include <algorithm>
#include <cmath>

namespace heed {

bool is_labeled_text(const ModelConfig& config) {
  return config.architecture == Architecture::encoder &&
         (config.head == Head::one_label || config.head == Head::several_labels || config.head == Head::number);
}

int64_t outputs_of(const ModelConfig& config) {
  return config.architecture == Architecture::encoder ? config.encoder_outputs() : config.target_vocabulary;
}

ProbeBatch::ProbeBatch(const ModelConfig& config, const ProbeOptions& options)
    : key_(RandomKey{options.seed}.derive("probe")), config_(config) {
  const int64_t length = options.length.value_or(std::min(kUsualProbedLength, config.max_length));
  const bool pairs = config.architecture == Architecture::seq2seq;
  const int64_t vocabulary =
      config.architecture == Architecture::encoder ? config.source_vocabulary : config.target_vocabulary;
  if (pairs) {
    source_ = draw_sequences(options.sequences, length, config.source_vocabulary);
  }
  stream_ = draw_sequences(options.sequences, pairs ? std::max<int64_t>(2, length * 3 / 4) : length, vocabulary);
  const int64_t predictions =
      is_labeled_text(config) ? options.sequences : options.sequences * static_cast<int64_t>(stream_[0].size());
  expected_ = Targets(draw_ids(predictions, std::max<int64_t>(1, outputs_of(config))));
  build();
}

void ProbeBatch::change(const std::string& stream, int64_t position) {
  const bool source = stream == "source" || config_.architecture == Architecture::encoder;
  int32_t& token = (stream == "source" ? source_ : stream_).front().at(static_cast<size_t>(position));
  token = static_cast<int32_t>((token + 1) % (source ? config_.source_vocabulary : config_.target_vocabulary));
  build();
}

std::vector<int32_t> ProbeBatch::draw_ids(int64_t count, int64_t below) {
  std::vector<int32_t> drawn(static_cast<size_t>(count));
  std::ranges::generate(drawn, [&] { return static_cast<int32_t>(draw() * static_cast<double>(below)); });
  return drawn;
}

ProbeBatch::TokenLists ProbeBatch::draw_sequences(int64_t count, int64_t length, int64_t vocabulary) {
  TokenLists drawn(static_cast<size_t>(count));
  std::ranges::generate(drawn, [&] { return draw_ids(length, vocabulary); });
  return drawn;
}

void ProbeBatch::build() {
  tokens_ = {Sequences(stream_), is_labeled_text(config_) ? Targets() : expected_};
  if (config_.architecture == Architecture::seq2seq) {
    pairs_ = {SourceSequences(source_), TargetSequences(stream_), expected_};
  }
}

TokenLosses ProbeBatch::loss_of(Pass& pass, const Seq2Seq& model) const {
  return model.loss(pass, pairs_, Smoothing(0.0F));
}

TokenLosses ProbeBatch::loss_of(Pass& pass, const CausalLM& model) const {
  return model.loss(pass, tokens_, Smoothing(0.0F));
}

TokenLosses ProbeBatch::loss_of(Pass& pass, const EncoderOnly& model) {
  if (config_.head == Head::one_label) {
    return model.loss(pass, model.pooled(pass, tokens_.tokens), expected_, Smoothing(0.0F));
  }
  if (!is_labeled_text(config_)) {
    return model.loss(pass, tokens_, Smoothing(0.0F));
  }
  valued_ = {tokens_.tokens, {{}, config_.encoder_outputs()}};
  for (int64_t i = 0; i < sequences() * config_.encoder_outputs(); ++i) {
    valued_.values.values.push_back(std::floor(2.0 * draw()));
  }
  return model.loss(pass, model.pooled(pass, valued_.texts), valued_.values);
}

std::vector<StackOutput> ProbeBatch::outputs_of_stacks(Pass& pass, const Seq2Seq& model, ProbeMaps& maps) const {
  const Memory memory = model.encode(pass, pairs_.source, {.maps = &maps.encoder});
  const Hidden decoded = model.decode(pass, pairs_.target, memory, {.maps = &maps.decoder});
  return {{"encoder", memory.hidden.var(), &pairs_.source.segments()},
          {"decoder", decoded.var(), &pairs_.target.segments()}};
}

std::vector<StackOutput> ProbeBatch::outputs_of_stacks(Pass& pass, const CausalLM& model, ProbeMaps& maps) const {
  return {{"decoder", model.hidden(pass, tokens_.tokens, {.maps = &maps.decoder}).var(), &tokens_.tokens.segments()}};
}

std::vector<StackOutput> ProbeBatch::outputs_of_stacks(Pass& pass, const EncoderOnly& model, ProbeMaps& maps) const {
  return {{"encoder", model.hidden(pass, tokens_.tokens, {.maps = &maps.encoder}).var(), &tokens_.tokens.segments()}};
}

}  // namespace heed
