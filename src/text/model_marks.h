// The tokens that a model reads and writes beside its texts, where these are not the tokenizer's bos and eos.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "heed/types/names.h"

namespace heed {

// What becomes of a translation at its maximum length: it is ended, and the probability of the end counts (end) or not
// (free_end); or it stays as it is (cut).
enum class AtLimit : uint8_t { end, free_end, cut };

inline constexpr std::array<NamedValue<AtLimit>, 3> kAtLimitNames{
    {{"end", AtLimit::end}, {"free-end", AtLimit::free_end}, {"cut", AtLimit::cut}}};

// Whether a language model has the layer that gives its tokens' scores, or was saved without, to embed texts.
enum class OutputLayer : uint8_t { present, missing };

inline constexpr std::array<NamedValue<OutputLayer>, 2> kOutputLayerNames{
    {{"present", OutputLayer::present}, {"missing", OutputLayer::missing}}};

struct ModelMarks {
  // What a translation begins with. The decoder reads the first token before it writes; the others are always written,
  // and count as certain. Empty: the target's bos.
  std::vector<int32_t> target_start = {};
  // How a translator of several languages spells a language as a token: "__{}__", ">>{}<<", "{}". Empty: it has one
  // pair.
  std::string language_form = {};
  // Tokens that end a language model's text, as its tokenizer's eos does.
  std::vector<int32_t> ends = {};
  // The family of Hugging Face's models that it came from, as config.json names it: "qwen2". Empty: none.
  std::string family = {};
  std::vector<int32_t> suppressed = {};              // tokens that are never written
  std::vector<std::vector<int32_t>> bad_words = {};  // runs of several tokens that are never written
  AtLimit at_limit = AtLimit::end;
  OutputLayer output_layer = OutputLayer::present;  // missing: its table of embeddings only stands in for it

  bool operator==(const ModelMarks&) const = default;
};

}  // namespace heed
