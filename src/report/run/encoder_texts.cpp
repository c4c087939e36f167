#include "report/run/encoder_texts.h"

#include "base/interruption.h"
#include "encode/encoder_texts.h"
#include "report/figures/tokens_and_maps.h"

namespace heed {
namespace {

constexpr int64_t kMaxDrawnTokens = 128;
constexpr size_t kMaxDrawnBytes = size_t{3} << 20;  // of all texts' maps

}  // namespace

EncoderTexts read_encoder_texts(const Inference& inference, const Tokenizer& tokenizer,
                                const std::vector<SampleLine>& lines, TextColumns columns,
                                const Interruption& interruption) {
  const ModelConfig& config = inference.model.config();
  EncoderTexts texts;
  HeadFiguresSum heads;
  size_t bytes = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    require_uninterrupted(state_of(interruption), "report");
    const EncodedText encoded =
        encode_line(tokenizer, lines[i].source, columns, config.max_length, TooLong::truncate, lines[i].where);
    const EncodedText* const one = &encoded;
    const Sequences sequence = sequences_of(std::span(&one, 1), config.token_types);
    AttentionMaps maps;
    Pass pass = Pass::infer(inference.backend, inference.storage);
    inference.model.encoder_only().hidden(pass, sequence, {.maps = &maps});
    heads.add("encoder", maps.self, {config.heads, sequence.rows(), sequence.rows()});
    EncoderText text{.text = lines[i].source, .tokens = pieces_of(tokenizer, encoded.ids), .maps = {}};
    if (sequence.rows() <= kMaxDrawnTokens) {
      text.maps = in_255ths(maps.self);
    }
    bytes += text.maps.size();
    if (bytes > kMaxDrawnBytes) {
      text.maps.clear();
    }
    texts.read.push_back(std::move(text));
  }
  if (bytes > kMaxDrawnBytes) {
    texts.notes.emplace_back("Some attention maps are left out: they would make the page too large.");
  }
  texts.heads = heads.take();
  return texts;
}

}  // namespace heed
