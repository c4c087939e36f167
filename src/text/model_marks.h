// The tokens that a model reads and writes beside its texts, where these are not the tokenizer's bos and eos.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heed {

struct ModelMarks {
  // What a translation begins with. The decoder reads the first token before it writes; the others are always written.
  // Empty: the target's bos.
  std::vector<int32_t> target_start = {};
  // How a translator of several languages spells a language as a token: "__{}__", ">>{}<<", "{}". Empty: it has one pair.
  std::string language_form = {};
  // Tokens that end a language model's text, as its tokenizer's eos does.
  std::vector<int32_t> ends = {};
  // The family of Hugging Face's models that it came from, as config.json names it: "qwen2". Empty: none.
  std::string family = {};

  bool operator==(const ModelMarks&) const = default;
};

}  // namespace heed
