#include "heed/generator.h"
#include "base/rounding.h"

#include <cmath>
#include <numbers>
#include <utility>

#include "api/inside/forward.h"
#include "api/inside/likely_tokens.h"
#include "api/inside/text_attention.h"
#include "api/writing/draft_model.h"
#include "base/text/plural.h"
#include "decode/scoring/perplexity.h"
#include "decode/texts/continuation_scores.h"
#include "decode/texts/prompt_scores.h"
#include "decode/texts/text_generation.h"
#include "kernels/cpu/precision.h"
#include "kernels/devices/device_choice.h"
#include "text/lines/multiline.h"
#include "text/token_ids.h"
#include "text/unicode/unicode.h"

namespace heed {
namespace {

Windows windows_of(const PerplexityOptions& options, int64_t max_length) {
  const int64_t window = options.window == 0 ? max_length : options.window;
  require<ConfigError>(window >= 1, "perplexity", "the window is {}, expected at least 1", window);
  require<ConfigError>(window <= max_length, "perplexity", "the window is {}, but the model takes at most {} tokens",
                       window, max_length);
  const int64_t stride = options.stride == 0 ? ceil_div(window, 2) : options.stride;
  require<ConfigError>(stride >= 1 && stride <= window, "perplexity",
                       "the stride is {}, expected 1 to the window of {}", stride, window);
  return {window, stride};
}

int64_t prefix_bytes_of(const InferenceOptions& options) {
  require<ConfigError>(options.prefix_bytes >= 0, "prefix bytes", "expected at least 0, found {}",
                       options.prefix_bytes);
  return options.prefix_bytes;
}

}  // namespace

struct Generator::State {
  State(const std::string& directory, const InferenceOptions& options, const DraftOptions& drafts)
      : backend(make_backend(options.device, options.threads)),
        storage(inference_type(options.precision, *backend)),
        cached(cache_type(options.cache, storage)),
        models({directory}, Architecture::causal_lm, options.ensemble, *backend, storage, options.context),
        draft(drafts, models, *backend, storage),
        prefix_bytes(prefix_bytes_of(options)) {}

  TextGenerator generator() {
    const StoredModel& stored = models.first();
    return {.scheduler = scheduler,
            .tokenizer = stored.text(),
            .documents = stored.documents(),
            .ends = stored.marks().ends,
            .automata = &automata,
            .suppressed = stored.marks().suppressed,
            .bad_words = stored.marks().bad_words};
  }

  std::unique_ptr<Backend> backend;
  DType storage, cached;
  LoadedEnsemble models;
  LoadedDraft draft;
  int64_t prefix_bytes;
  Scheduler scheduler{models.inference(*backend, storage, cached), draft.drafting(), SourceVocabulary::other,
                      Scheduler::Memory{.step_bytes = models.step_bytes(), .prefix_bytes = prefix_bytes}};
  AutomatonCache automata{models.first().text()};
};

Generator::Generator(const std::string& directory, const InferenceOptions& options, const DraftOptions& drafts)
    : state_(std::make_unique<State>(directory, options, drafts)) {}
Generator::~Generator() = default;
Generator::Generator(Generator&& other) noexcept = default;
Generator& Generator::operator=(Generator&& other) noexcept = default;

Precision Generator::precision() const { return precision_of(state_->storage); }
int Generator::threads() const { return state_->backend->threads(); }
int64_t Generator::parameters() const { return state_->models.parameters(); }
int64_t Generator::max_length() const { return state_->scheduler.inference().max_length(); }
PrefixReport Generator::prefixes() const { return state_->scheduler.prefixes(); }
void Generator::forget_prefixes() const { state_->scheduler.forget_prefixes(); }
Workload Generator::workload() const { return state_->scheduler.workload(); }
DraftReport Generator::drafts() const { return state_->draft.report(); }

GenerationOptions Generator::with_defaults(GenerationOptions options) const {
  state_->models.first().decoding().apply_to(options);
  return options;
}

std::vector<std::vector<Completion>> Generator::generate(std::span<const std::string> prompts,
                                                         const GenerationOptions& options, GenerationListener* listener,
                                                         const PromptName& name) const {
  const auto where = [&](size_t i) { return name ? name(i) : fmt::format("prompt {}", i + 1); };
  return generate_texts(state_->generator(), prompts, options, where, listener);
}

std::vector<std::vector<ScoredToken>> Generator::score_prompts(std::span<const std::string> prompts,
                                                               const GenerationOptions& options,
                                                               const PromptName& name) const {
  const auto where = [&](size_t i) { return name ? name(i) : fmt::format("prompt {}", i + 1); };
  return heed::score_prompts(state_->generator(), prompts, options, where);
}

std::vector<int32_t> Generator::tokens(const std::string& prompt, const GenerationOptions& options,
                                       const std::string& where) const {
  return prompt_ids(state_->generator(), prompt, options, where);
}

ForwardResult Generator::forward(std::span<const int32_t> tokens, const ForwardRequest& request) const {
  ForwardResult found;
  state_->scheduler.lanes().run(1, [&](size_t /*task*/, Backend& backend) {
    found = forward_of_text(state_->scheduler.inference().on(backend), tokens, request);
  });
  return found;
}

std::vector<std::vector<TextScore>> Generator::score_continuations(std::span<const Continuations> items,
                                                                   const GenerationOptions& options,
                                                                   const PromptName& name) const {
  const auto where = [&](size_t i) { return name ? name(i) : fmt::format("prompt {}", i + 1); };
  return heed::score_continuations(state_->generator(), items, options, where);
}

int64_t Generator::count_tokens(const std::string& prompt, const GenerationOptions& options,
                                const std::string& where) const {
  return count_prompt_tokens(state_->generator(), prompt, options, where);
}

Perplexity Generator::perplexity(const std::string& text, const PerplexityOptions& options,
                                 std::string_view where) const {
  const Windows windows = windows_of(options, max_length());
  require_text_lines(text, where);
  const StoredModel& stored = state_->models.first();
  const Tokenizer& tokenizer = stored.text();
  std::vector<TokenId> tokens = encode_text(tokenizer, text);
  const auto count = static_cast<int64_t>(tokens.size());
  if (begins_with_mark(stored.documents(), tokenizer) && count > 0) {
    tokens.insert(tokens.begin(), beginning_of_document(tokenizer));
  }
  const std::vector<int32_t> ids = ids_of(tokens);
  require<FormatError>(ids.size() >= 2, where, "{} token{}, too few to predict one from another", count, plural(count));
  const std::vector<double> nats = surprisals(state_->scheduler.inference(), state_->scheduler.lanes(), ids, windows,
                                              options.interruption, options.sharing);
  Perplexity result{.tokens = count, .bytes = static_cast<int64_t>(text.size()), .each = {}};
  double sum = 0.0;
  for (const double of_token : nats) {
    sum += of_token;
  }
  result.nats_per_token = sum / static_cast<double>(nats.size());
  result.bits_per_byte = result.nats_per_token / std::numbers::ln2 * static_cast<double>(result.tokens) /
                         static_cast<double>(result.bytes);
  result.perplexity = std::exp(result.nats_per_token);
  if (options.each == EachToken::listed) {
    for (size_t i = 0; i < nats.size(); ++i) {
      result.each.push_back({std::string(tokenizer.piece(TokenId(ids[i + 1]))), nats[i]});
    }
  }
  return result;
}

LikelyTokens Generator::next_tokens(const std::string& prompt, int64_t count, const GenerationOptions& options,
                                    const std::string& where) const {
  const StoredModel& stored = state_->models.first();
  LikelyTokens found{.prompt = tokens(prompt, options, where), .tokens = {}};
  const auto read = [&](size_t /*task*/, Backend& backend) {
    found.tokens = likely_tokens(state_->scheduler.inference().on(backend), stored.text(), found.prompt, count);
  };
  state_->scheduler.lanes().run(1, read, options.interruption, options.sharing);
  return found;
}

TextAttention Generator::attention(const std::string& prompt, const AttentionRequest& request,
                                   const GenerationOptions& options, const std::string& where) const {
  const StoredModel& stored = state_->models.first();
  const std::vector<int32_t> ids = tokens(prompt, options, where);
  TextAttention found;
  const auto read = [&](size_t /*task*/, Backend& backend) {
    found = attention_of_text(state_->scheduler.inference().on(backend), stored.text(), Sequences({ids}), ids, request);
  };
  state_->scheduler.lanes().run(1, read, request.interruption, request.sharing);
  return found;
}

}  // namespace heed
