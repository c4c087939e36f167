// Speculative decoding: something cheap drafts the next tokens, and the model checks them all in one step. This changes
// how long a text takes to write, and never the text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace heed {

// What drafts: nothing; a smaller model of the same kind with the same tokenizer; the text itself, in which its last
// tokens are looked up where they stood before; the model's own first layers.
enum class Drafts : uint8_t { none, model, prompt, layers };

constexpr int64_t kMaxDraftTokens = 32;

struct DraftOptions {
  Drafts by = Drafts::none;
  std::string model;   // by a model: its directory
  int64_t layers = 0;  // by the model's own layers: how many, fewer than it has
  // Drafted at once. 0: as many as pay, by the share of them that was right and the time that steps took; while drafts
  // do not pay, there are none.
  int64_t tokens = 0;
};

// "prompt", "layers:2", or a model's directory. ConfigError, which begins with `where`, for anything else.
DraftOptions drafts_named(const std::string& text, std::string_view where);

// What drafts have done. Steps that read a prompt are left out. The counts depend on how long steps took, unless
// DraftOptions::tokens is given.
struct DraftReport {
  int64_t steps = 0;             // of the model, for one text each
  int64_t tokens = 0;            // written in them
  int64_t drafted = 0;           // tokens checked
  int64_t accepted = 0;          // of these, those that were right
  double seconds = 0.0;          // of the steps and the drafts
  double seconds_without = 0.0;  // an estimate, from steps without drafts: what the tokens would have taken without any

  double acceptance() const {
    return drafted == 0 ? 0.0 : static_cast<double>(accepted) / static_cast<double>(drafted);
  }
  double tokens_per_step() const { return steps == 0 ? 0.0 : static_cast<double>(tokens) / static_cast<double>(steps); }
  double gain() const { return seconds == 0.0 ? 1.0 : seconds_without / seconds; }
};

}  // namespace heed
