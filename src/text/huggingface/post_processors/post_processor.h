// The post-processors of a tokenizer.json: they put tokens around texts, and trim offsets.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "text/huggingface/encoding.h"
#include "text/huggingface/json.h"

namespace heed::huggingface {

// The tokens of a text, or tokens that were put around texts.
struct EncodedSlot {
  int32_t text = FrameSlot::kToken;  // 0 or 1 for a text
  int32_t type = 0;
  std::vector<TokenId> ids;
  std::vector<ByteRange> offsets;
  std::vector<std::string> texts;
};

class PostProcessor {
 public:
  virtual ~PostProcessor() = default;
  PostProcessor(const PostProcessor&) = delete;
  PostProcessor& operator=(const PostProcessor&) = delete;

  // Changes one slot or two.
  virtual void apply(std::vector<EncodedSlot>& slots, Frame frame) const = 0;
  // Whether it looks at offsets and the texts of tokens.
  virtual bool trims_offsets() const { return false; }

 protected:
  PostProcessor() = default;
};

using PostProcessorPtr = std::unique_ptr<PostProcessor>;

// From the value of "post_processor"; FormatError for types and settings that are unknown.
PostProcessorPtr read_post_processor(const JsonValue& json);

}  // namespace heed::huggingface
