#include "text/lines/documents.h"

namespace heed {

bool begins_with_mark(std::optional<Documents> documents, const Tokenizer& tokenizer) {
  if (documents) {
    return *documents != Documents::none;
  }
  const std::span<const FrameSlot> frame = tokenizer.frame(1);
  return !frame.empty() && frame.front().text == FrameSlot::kToken;
}

}  // namespace heed
