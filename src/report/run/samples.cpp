#include "report/run/samples.h"

#include <algorithm>
#include <cmath>

#include "base/interruption.h"
#include "data/lines/line_reader.h"
#include "decode/texts/translation/translation_frame.h"
#include "ops/loss/loss.h"
#include "report/figures/tokens_and_maps.h"
#include "text/token_ids.h"
#include "text/unicode/unicode.h"

namespace heed {
namespace {

constexpr int64_t kMaxMapTokens = 128;             // of a side
constexpr size_t kMaxSelfBytes = size_t{3} << 20;  // of all samples' self-attention

// Runs encoder and decoder once more over the finished translation.
void trace(const TextTranslator& translator, const TranslationFrame& frame, const std::vector<int32_t>& source_ids,
           const std::vector<int32_t>& found, TranslatedSample& sample, HeadFiguresSum& heads) {
  const Inference& inference = translator.scheduler.inference();
  const Seq2Seq& model = inference.model.seq2seq();
  std::vector<int32_t> fed{frame.target_start().front()}, produced = frame.forced_target(found);
  fed.insert(fed.end(), produced.begin(), produced.end());
  produced.push_back(translator.tokenizers.target.special().eos.value);
  sample.source_tokens = pieces_of(translator.tokenizers.source, source_ids);
  sample.target_tokens = pieces_of(translator.tokenizers.target, produced);
  sample.fed_tokens = pieces_of(translator.tokenizers.target, fed);

  const SourceSequences source({source_ids});
  const TargetSequences target({fed});
  AttentionMaps of_encoder, of_decoder;
  Pass pass = Pass::infer(inference.backend, inference.storage);
  const Memory memory = model.encode(pass, source, {.maps = &of_encoder});
  const Hidden hidden = model.decode(pass, target, memory, {.maps = &of_decoder});
  const LogProbs log_probs = log_softmax(pass, model.logits(pass, hidden));
  const auto rows = host<float>(log_probs.var().value());
  for (size_t row = 0; row < produced.size(); ++row) {
    sample.log_probabilities.push_back(rows(static_cast<int64_t>(row), produced[row]));
  }
  const int64_t count = inference.model.config().heads;
  heads.add("cross", of_decoder.cross, {count, target.rows(), source.rows()});
  heads.add("encoder", of_encoder.self, {count, source.rows(), source.rows()});
  heads.add("decoder", of_decoder.self, {count, target.rows(), target.rows()});
  if (std::max(source.rows(), target.rows()) <= kMaxMapTokens) {
    sample.maps = {in_255ths(of_decoder.cross), in_255ths(of_encoder.self), in_255ths(of_decoder.self)};
  }
}

// Cross-attention matters most; self-attention is dropped first when the page would be too large.
void limit_size(Samples& samples) {
  size_t bytes = 0;
  for (const TranslatedSample& sample : samples.translated) {
    bytes += sample.maps.encoder.size() + sample.maps.decoder.size();
  }
  if (bytes <= kMaxSelfBytes) {
    return;
  }
  for (TranslatedSample& sample : samples.translated) {
    sample.maps.encoder.clear();
    sample.maps.decoder.clear();
  }
  samples.notes.emplace_back("Self-attention is left out: with these sentences it would make the page too large.");
}

// The end takes a position too.
bool fits(size_t tokens, const ModelConfig& config) { return static_cast<int64_t>(tokens) <= config.max_length; }

}  // namespace

std::vector<SampleLine> read_sample_lines(const std::vector<std::filesystem::path>& sources,
                                          const std::vector<std::filesystem::path>& references, int64_t max_samples) {
  std::vector<SampleLine> lines;
  const auto wanted = [&] { return static_cast<int64_t>(lines.size()) < max_samples; };
  for (size_t file = 0; file < sources.size() && wanted(); ++file) {
    const LineRules rules{.max_bytes = size_t{1} << 14, .long_lines = LongLines::mark};
    LineReader reader(sources[file], rules);
    std::optional<LineReader> reference;
    if (file < references.size()) {
      reference.emplace(references[file], rules);
    }
    for (SampleLine line; wanted() && reader.next(line.source);) {
      if (reference && !reference->next(line.reference)) {
        line.reference.clear();
      }
      if (!is_blank(line.source)) {
        line.where = reader.where();
        lines.push_back(line);
      }
    }
  }
  return lines;
}

Samples translate_samples(const TextTranslator& translator, const std::vector<SampleLine>& lines,
                          const TranslationOptions& options) {
  Samples samples;
  const TranslationFrame frame(translator.tokenizers, translator.marks, options.languages);
  std::vector<std::vector<int32_t>> ids;
  std::vector<std::string> texts;
  int64_t too_long = 0;
  for (const SampleLine& line : lines) {
    std::vector<int32_t> tokens = frame.around_source(ids_of(translator.tokenizers.source.encode(line.source)));
    if (!fits(tokens.size(), translator.scheduler.inference().model.config())) {
      ++too_long;
      continue;
    }
    ids.push_back(std::move(tokens));
    texts.push_back(line.source);
    samples.translated.push_back({.line = line});
  }
  const auto found =
      translate_lines(translator, texts, options, [](size_t i) { return fmt::format("sample {}", i + 1); });
  HeadFiguresSum heads;
  for (size_t i = 0; i < found.size(); ++i) {
    require_uninterrupted(state_of(options.interruption), "report");
    TranslatedSample& sample = samples.translated[i];
    sample.translation = found[i].front().translation.text;
    trace(translator, frame, ids[i], found[i].front().ids, sample, heads);
  }
  samples.heads = heads.take();
  if (too_long > 0) {
    samples.notes.push_back(fmt::format("{} of the sample sentences {} longer than the model takes, and left out.",
                                        too_long, too_long == 1 ? "is" : "are"));
  }
  limit_size(samples);
  return samples;
}

}  // namespace heed
