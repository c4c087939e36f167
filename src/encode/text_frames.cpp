#include "encode/text_frames.h"

#include "base/errors.h"

namespace heed {

std::vector<FrameSlot> encoder_frame(const Tokenizer& tokenizer, int texts) {
  if (const std::span<const FrameSlot> own = tokenizer.frame(texts); !own.empty()) {
    return {own.begin(), own.end()};
  }
  const SpecialTokens& special = tokenizer.special();
  require<FormatError>(special.eos != kNoToken, "tokenizer", "it has no eos, which ends a text");
  const TokenId begin = special.bos == kNoToken ? special.eos : special.bos;
  const TokenId separator = special.sep == kNoToken ? special.eos : special.sep;
  if (texts == 1) {
    return {{.token = begin}, {.text = 0}, {.token = special.eos}};
  }
  return {
      {.token = begin}, {.text = 0}, {.token = separator}, {.text = 1, .type = 1}, {.token = special.eos, .type = 1}};
}

std::vector<FrameSlot> embedding_frame(Architecture architecture, const Tokenizer& tokenizer,
                                       std::optional<Documents> documents) {
  const std::span<const FrameSlot> own = tokenizer.frame(1);
  if (architecture == Architecture::encoder || !own.empty()) {
    return encoder_frame(tokenizer, 1);
  }
  if (architecture == Architecture::seq2seq) {
    return {{.text = 0}, {.token = tokenizer.special().eos}};
  }
  std::vector<FrameSlot> frame{{.text = 0}};
  if (begins_with_mark(documents, tokenizer)) {
    frame.insert(frame.begin(), {.token = beginning_of_document(tokenizer)});
  }
  return frame;
}

}  // namespace heed
