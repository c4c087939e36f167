// What a language model is asked to write, and what it wrote.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "heed/types/interruption.h"
#include "heed/types/names.h"
#include "heed/types/sharing.h"
#include "heed/types/too_long.h"
#include "heed/types/writing/token_scores.h"
#include "heed/types/writing/writing_rules.h"

namespace heed {

// A token's number in the model's vocabulary, and what is added to its logit.
struct TokenBias {
  int32_t token = 0;
  double bias = 0.0;  // -kMaxTokenBias to kMaxTokenBias
};
inline constexpr double kMaxTokenBias = 100.0;

// How the next token is drawn from the model's logits, which are not changed:
//   z = logit + bias,                                            of each token that has a bias
//   1. z > 0 ? z / repetition_penalty : z * repetition_penalty,   of each token that the text or its prompt has so far;
//      z - presence_penalty - n * frequency_penalty,              of each that was written n > 0 times after the prompt
//   2. the top_k largest are kept
//   3. p = softmax(z / temperature) of what was kept
//   4. the largest p are kept, as few as it takes for their sum to reach top_p; and of these, those of at least min_p
//      times the largest
//   5. a token is drawn in proportion to p
struct SamplingOptions {
  double temperature = 1.0;  // 0: the token with the largest logit after step 1
  int64_t top_k = 0;         // 0: all
  double top_p = 1.0;
  double min_p = 0.0;
  double repetition_penalty = 1.0, presence_penalty = 0.0, frequency_penalty = 0.0;
  uint64_t seed = 0;
  std::vector<TokenBias> logit_bias = {};  // each token once
};

// Who puts the tokens for a text's beginning and for other marks before and into a prompt.
//   added    heed: what a model's documents begin with goes before the prompt, and "</s>" in it is four characters
//   spelled  the prompt, which a chat template wrote: where it has a mark's piece, it has the mark, and none is added
enum class PromptMarks : uint8_t { added, spelled };

struct GenerationOptions {
  SamplingOptions sampling;
  int64_t beam = 1;                    // above 1: beam search, without sampling
  int64_t samples = 1;                 // texts for each prompt; with beam search the best ones, at most `beam`
  int64_t max_tokens = 200;            // of a text
  std::vector<std::string> stop;       // a text ends before the first of these that appears
  TooLong too_long = TooLong::refuse;  // of a prompt
  Interruption interruption;
  Sharing sharing = {};
  WritingRules rules = {};
  EachToken each = EachToken::left_out;  // whether completions have their tokens' log-probabilities
  // A regular expression that each text matches from beginning to end, and texts of which each text is one; see
  // docs/decoding.md. A model without an end token ends a text when it would write something that is not allowed.
  std::string regex = {};
  std::vector<std::string> choices = {};
  // With beam search, texts that every text contains: as the tokenizer cuts them, so that one may be a part of a longer
  // word. The beam must be larger than the number of their tokens.
  std::vector<std::string> force = {};
  PromptMarks marks = PromptMarks::added;
  // With `each`: how many of the likeliest tokens are listed at the place of each, 0 to kMaxLikeliest.
  int64_t likeliest = 0;
};

// Why a text ended: the model ended it, a stop text appeared, max_tokens was reached, the call's deadline passed, or
// the caller stopped it.
enum class FinishReason : uint8_t { end, stop, length, deadline, cancelled };

inline constexpr std::array<NamedValue<FinishReason>, 5> kFinishReasonNames{{{"end", FinishReason::end},
                                                                             {"stop", FinishReason::stop},
                                                                             {"length", FinishReason::length},
                                                                             {"deadline", FinishReason::deadline},
                                                                             {"cancelled", FinishReason::cancelled}}};

constexpr std::string_view name_of(FinishReason reason) { return name_among(kFinishReasonNames, reason); }

struct Completion {
  std::string text;              // without the prompt
  int64_t tokens = 0;            // generated, including an end and those of a stop text
  double log_probability = 0.0;  // of these tokens, under the model's unmodified logits; natural logarithm
  FinishReason reason = FinishReason::length;
  int64_t drafted = 0, accepted = 0;   // tokens of drafts that were checked, and those that were right; see DraftReport
  int64_t cached = 0;                  // tokens of the prompt that had been read for another text; see PrefixReport
  std::vector<ScoredToken> each = {};  // where asked for: the tokens, under the model's unmodified logits
};

// Receives texts while they are generated: from one thread at a time, each text's tokens and pieces in order, and texts
// of beam search whole, when their search has ended. That thread may be writing other callers' texts too: return soon,
// and do not call the model.
class GenerationListener {
 public:
  // Text number `sample` of prompt number `prompt`, both counted from 0.
  struct Text {
    size_t prompt;
    int64_t sample;
  };

  virtual ~GenerationListener() = default;
  // The next token, where the options list each: before the piece that its text is in. A piece is the text of any
  // number of tokens, of which the first and the last may be in two pieces; ScoredToken::text_offset says where each
  // begins.
  virtual void on_token(const Text& /*text*/, const ScoredToken& /*token*/) {}
  virtual void on_piece(const Text& /*text*/, std::string_view /*piece*/) {}
  virtual void on_completion(const Text& /*text*/, const Completion& /*completion*/) {}
};

// How well a model predicts a text.
struct TokenSurprisal {
  std::string piece;  // as Tokenizer shows it
  double nats;        // -log p
};

struct Perplexity {
  int64_t tokens = 0, bytes = 0;
  double nats_per_token = 0.0;
  double bits_per_byte = 0.0;        // nats_per_token / ln 2 * tokens / bytes
  double perplexity = 0.0;           // e^nats_per_token
  std::vector<TokenSurprisal> each;  // where asked for: one for each predicted token
};

}  // namespace heed
