// Writing text with a trained language model, and measuring how well it predicts one.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "heed/types/attention.h"
#include "heed/types/forward.h"
#include "heed/types/inference.h"
#include "heed/types/workload.h"
#include "heed/types/writing/continuations.h"
#include "heed/types/writing/drafting.h"
#include "heed/types/writing/generation.h"
#include "heed/types/writing/next_tokens.h"
#include "heed/types/writing/prefixes.h"
#include "heed/types/writing/token_scores.h"

namespace heed {

struct PerplexityOptions {
  int64_t window = 0;  // the most tokens that the model sees at once; 0: the most that it takes
  int64_t stride = 0;  // tokens by which the window moves on; 0: half the window, rounded up
  EachToken each = EachToken::left_out;
  // Takes effect between the parts of about 4,096 tokens that are read at once, or a window if that is longer: then
  // InterruptedError is thrown.
  Interruption interruption = {};
  Sharing sharing = {};
};

// A language model from its directory. Safe to call from several threads at once, which share its weights. The text for
// a prompt depends only on the prompt, the options and the number of the sample: not on the other prompts, nor on the
// number of threads.
class Generator {
 public:
  // Throws, naming the file, when the directory is incomplete or holds a model of another kind.
  // `drafts` make it faster; they change no text.
  explicit Generator(const std::string& directory, const InferenceOptions& options = {},
                     const DraftOptions& drafts = {});
  ~Generator();
  Generator(Generator&& other) noexcept;
  Generator& operator=(Generator&& other) noexcept;

  Precision precision() const;  // what it computes in: f32 or bf16
  int threads() const;
  int64_t parameters() const;  // of all models of an ensemble
  int64_t max_length() const;  // tokens that the model, or each of an ensemble, takes
  PrefixReport prefixes() const;
  void forget_prefixes() const;  // gives the memory of InferenceOptions::prefix_bytes back
  Workload workload() const;     // at this moment; never waits for a step of the model
  DraftReport drafts() const;    // of all texts that were generated so far

  // These options, with the values that another program's model gives for its decoding in place of theirs.
  GenerationOptions with_defaults(GenerationOptions options = {}) const;

  // Names a prompt in errors, by its number, from 0.
  using PromptName = std::function<std::string(size_t prompt)>;

  // The texts for each prompt. When a text has max_length() tokens, the model goes on from the last half of them.
  // Throws before anything is generated when an option makes no sense, a prompt is not UTF-8 or too long, or the
  // tokenizer can't write a stop text.
  std::vector<std::vector<Completion>> generate(std::span<const std::string> prompts,
                                                const GenerationOptions& options = {},
                                                GenerationListener* listener = nullptr,
                                                const PromptName& name = {}) const;

  // How likely the model finds each token of the prompts after those before it, and of the options' `likeliest` the
  // tokens in its place. Marks before a prompt are left out. Nothing predicts a token that is the first that the model
  // reads: its log-probability is 0, and it has no likeliest. Throws as generate() does, and InterruptedError when the
  // options' interruption comes first.
  std::vector<std::vector<ScoredToken>> score_prompts(std::span<const std::string> prompts,
                                                      const GenerationOptions& options = {},
                                                      const PromptName& name = {}) const;
  // How likely the model finds each text after its prompt: of the tokens of both together, those after the ones with
  // which all texts of an item begin as the prompt does. What comes before is read once. Throws as generate() does, also
  // for a prompt and a text that are too long together.
  std::vector<std::vector<TextScore>> score_continuations(std::span<const Continuations> items,
                                                          const GenerationOptions& options = {},
                                                          const PromptName& name = {}) const;
  // The most likely next tokens after a prompt, at most `count`. Throws as generate() does, and InterruptedError when
  // the options' interruption comes before the prompt is read, which is one step.
  LikelyTokens next_tokens(const std::string& prompt, int64_t count, const GenerationOptions& options = {},
                           const std::string& where = "prompt") const;
  // What the model attends to when it reads the prompt. Throws as generate() does, and for a request that the model
  // can't answer. Of an ensemble, its first model.
  TextAttention attention(const std::string& prompt, const AttentionRequest& request,
                          const GenerationOptions& options = {}, const std::string& where = "prompt") const;
  // What the model reads of a prompt, a mark before it included, as count_tokens() counts.
  std::vector<int32_t> tokens(const std::string& prompt, const GenerationOptions& options = {},
                              const std::string& where = "prompt") const;
  // What it computes from tokens. Throws for more than it takes, and for tokens that are none. Of an ensemble, its first
  // model.
  ForwardResult forward(std::span<const int32_t> tokens, const ForwardRequest& request = {}) const;
  // The tokens that the model reads for a prompt, a mark before it included. Throws when the prompt is not UTF-8 or too
  // long. `where` names it in errors.
  int64_t count_tokens(const std::string& prompt, const GenerationOptions& options = {},
                       const std::string& where = "prompt") const;

  // Takes the text as one document. Only a model that was trained on documents predicts the first token of a text.
  // Throws when the text is not UTF-8, naming the line, or no token of it is predicted, or it is interrupted. `where`
  // names the text in errors.
  Perplexity perplexity(const std::string& text, const PerplexityOptions& options = {},
                        std::string_view where = "text") const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace heed
