#include "decode/text_generation.h"

#include <algorithm>
#include <mutex>
#include <optional>

#include "decode/generation.h"
#include "decode/search.h"
#include "decode/text_stream.h"
#include "decode/token_ids.h"
#include "text/multiline.h"
#include "text/unicode.h"

namespace heed {
namespace {

constexpr size_t kBeamPrompts = 16;  // searched together

// What an empty prompt stands for when the model has no mark.
TokenId beginning_of_stream(const Tokenizer& tokenizer) {
  return line_break_token(tokenizer).value_or(beginning_of_document(tokenizer));
}

std::vector<TokenId> tokens_of_prompt(const TextGenerator& generator, const std::string& prompt,
                                      const GenerationOptions& options, const std::string& where) {
  require_text(prompt, where);
  std::vector<TokenId> tokens = encode_text(generator.tokenizer, prompt);
  const bool has_mark = generator.documents.value_or(Documents::none) != Documents::none;
  const auto max_tokens = static_cast<size_t>(generator.model.config().max_length) - (has_mark ? 1 : 0);
  if (tokens.size() > max_tokens) {
    require<FormatError>(
        options.long_prompts == LongPrompts::cut_left, where,
        "{} tokens, but the model takes at most {}: shorten the prompt, or cut it from the left (--cut-prompt)",
        tokens.size(), max_tokens);
    tokens.erase(tokens.begin(), tokens.end() - static_cast<int64_t>(max_tokens));
  }
  if (has_mark) {
    tokens.insert(tokens.begin(), beginning_of_document(generator.tokenizer));
  } else if (tokens.empty()) {
    tokens.push_back(beginning_of_stream(generator.tokenizer));
  }
  return tokens;
}

// What never occurs in a text that the model was trained on.
std::vector<int32_t> suppressed_tokens(const TextGenerator& generator) {
  const SpecialTokens& special = generator.tokenizer.special();
  const bool may_end = generator.documents != Documents::none;
  std::vector<int32_t> suppressed;
  for (const TokenId token : {special.pad, special.unk, special.bos, special.sep, special.eos}) {
    if (token != kNoToken && (token != special.eos || !may_end)) {
      suppressed.push_back(token.value);
    }
  }
  return suppressed;
}

using Prompts = std::vector<std::vector<TokenId>>;
using Results = std::vector<std::vector<Completion>>;

// Hands out prompts to the lanes, and turns their tokens into texts. Lanes call it at the same time, each for its own
// texts.
class Client final : public GenerationClient {
 public:
  Client(const TextGenerator& generator, const Prompts& prompts, const GenerationOptions& options,
         GenerationListener* listener)
      : generator_(generator), prompts_(prompts), options_(options), listener_(listener), results_(prompts.size()) {
    for (const std::vector<TokenId>& prompt : prompts) {
      ids_.push_back(ids_of(prompt));
    }
    for (size_t i = 0; i < prompts.size(); ++i) {
      results_[i].resize(static_cast<size_t>(options.samples));
      for (int64_t sample = 0; sample < options.samples; ++sample) {
        streams_.emplace_back(generator.tokenizer, prompts[i], options.stop);
      }
    }
  }

  std::optional<GenerationTask> take_task() override {
    const std::lock_guard lock(mutex_);
    if (next_prompt_ == prompts_.size()) {
      return std::nullopt;
    }
    const size_t prompt = next_prompt_++;
    return GenerationTask{prompt, ids_[prompt], options_.samples};
  }

  Verdict take_token(const Written& written) override {
    TextStream& stream =
        streams_[written.task * static_cast<size_t>(options_.samples) + static_cast<size_t>(written.sample)];
    Completion& result = results_[written.task][static_cast<size_t>(written.sample)];
    ++result.tokens;
    result.log_probability += written.log_probability;
    result.drafted = written.drafted;
    result.accepted = written.accepted;
    const bool ended = TokenId(written.token) == generator_.tokenizer.special().eos;
    std::string piece = ended ? "" : stream.add(TokenId(written.token));
    const bool finished = ended || stream.stopped() || result.tokens == options_.max_tokens;
    if (finished && !stream.stopped()) {
      piece += stream.finish();
    }
    result.text += piece;
    if (finished) {
      result.reason = stream.stopped() ? FinishReason::stop : ended ? FinishReason::end : FinishReason::length;
    }
    tell(written, piece, finished ? &result : nullptr);
    return finished ? Verdict::ended : Verdict::go_on;
  }

  Results results() { return std::move(results_); }

 private:
  void tell(const Written& written, const std::string& piece, const Completion* completion) {
    if (listener_ == nullptr || (piece.empty() && completion == nullptr)) {
      return;
    }
    const std::lock_guard lock(mutex_);
    const GenerationListener::Text text{written.task, written.sample};
    if (!piece.empty()) {
      listener_->on_piece(text, piece);
    }
    if (completion != nullptr) {
      listener_->on_completion(text, *completion);
    }
  }

  const TextGenerator& generator_;
  const Prompts& prompts_;
  const GenerationOptions& options_;
  GenerationListener* listener_;
  std::mutex mutex_;  // guards the next prompt and the listener
  size_t next_prompt_ = 0;
  std::vector<std::vector<int32_t>> ids_;
  std::vector<TextStream> streams_;  // of each prompt's samples, end to end
  Results results_;
};

Results sample_texts(const TextGenerator& generator, const Prompts& prompts, const GenerationOptions& options,
                     GenerationListener* listener) {
  Client client(generator, prompts, options, listener);
  const auto lanes = std::min(prompts.size(), static_cast<size_t>(generator.lanes.count()));
  GenerationRules rules{.sampling = options.sampling, .suppressed = suppressed_tokens(generator)};
  // Every lane gets texts to generate.
  const auto share = static_cast<int64_t>((prompts.size() + lanes - 1) / lanes);
  rules.max_texts = std::min(rules.max_texts, share * options.samples);
  generator.lanes.run(lanes, [&](size_t, Backend& backend) {
    const Inference inference{generator.model, backend, generator.storage};
    const auto stepper = make_stepper(inference, stepper_options(generator.drafting));
    const auto speculation = make_speculation(generator.drafting, inference, rules.sampling, rules.suppressed);
    generate(*stepper, rules, client, speculation.get());
  });
  return client.results();
}

Completion completion_of(const TextGenerator& generator, const std::vector<TokenId>& prompt,
                         const Hypothesis& hypothesis, const GenerationOptions& options) {
  TextStream stream(generator.tokenizer, prompt, options.stop);
  Completion completion{.tokens = static_cast<int64_t>(hypothesis.tokens.size()) + (hypothesis.cut_off ? 0 : 1),
                        .log_probability = hypothesis.log_probability,
                        .reason = hypothesis.cut_off ? FinishReason::length : FinishReason::end};
  for (const TokenId token : tokens_of(hypothesis.tokens)) {
    completion.text += stream.add(token);
    if (stream.stopped()) {
      break;
    }
  }
  completion.text += stream.stopped() ? "" : stream.finish();
  if (stream.stopped()) {
    completion.reason = FinishReason::stop;
  }
  return completion;
}

Results search_texts(const TextGenerator& generator, const Prompts& prompts, const GenerationOptions& options,
                     GenerationListener* listener) {
  const TranslationOptions wanted{.beam = options.beam, .n_best = options.samples};
  const SearchRules rules{.at_max_length = AtMaxLength::cut,
                          .eos = generator.tokenizer.special().eos.value,
                          .suppressed = suppressed_tokens(generator)};
  Results results(prompts.size());
  std::mutex mutex;  // guards the listener
  const size_t batches = (prompts.size() + kBeamPrompts - 1) / kBeamPrompts;
  generator.lanes.run(batches, [&](size_t batch, Backend& backend) {
    const auto stepper = make_stepper({generator.model, backend, generator.storage});
    const size_t begin = batch * kBeamPrompts, end = std::min(prompts.size(), begin + kBeamPrompts);
    std::vector<std::vector<int32_t>> ids;
    for (size_t i = begin; i < end; ++i) {
      ids.push_back(ids_of(prompts[i]));
    }
    std::vector<SearchStart> starts;
    const auto sequences = stepper->begin(std::vector<std::vector<int32_t>>(ids.size()));
    for (size_t i = 0; i < ids.size(); ++i) {
      const int64_t room = stepper->max_length() - static_cast<int64_t>(ids[i].size()) + 1;
      starts.push_back({sequences[i], ids[i], std::min(options.max_tokens, room)});
    }
    const auto found = search(*stepper, starts, wanted, rules);
    for (size_t i = begin; i < end; ++i) {
      for (const Hypothesis& hypothesis : found[i - begin]) {
        results[i].push_back(completion_of(generator, prompts[i], hypothesis, options));
      }
    }
    if (listener != nullptr) {
      const std::lock_guard lock(mutex);
      for (size_t i = begin; i < end; ++i) {
        for (size_t sample = 0; sample < results[i].size(); ++sample) {
          const GenerationListener::Text text{i, static_cast<int64_t>(sample)};
          listener->on_piece(text, results[i][sample].text);
          listener->on_completion(text, results[i][sample]);
        }
      }
    }
  });
  return results;
}

}  // namespace

TokenId beginning_of_document(const Tokenizer& tokenizer) {
  const SpecialTokens& special = tokenizer.special();
  return special.bos != kNoToken ? special.bos : special.eos != kNoToken ? special.eos : TokenId(0);
}

void validate(const GenerationOptions& options) {
  validate(options.sampling);
  const auto check = [](bool good, std::string_view name, int64_t value, std::string_view expected) {
    require<ConfigError>(good, "generation", "{} is {}, expected {}", name, value, expected);
  };
  check(options.max_tokens >= 1, "max tokens", options.max_tokens, "at least 1");
  check(options.beam >= 1 && options.beam <= 1024, "beam", options.beam, "1 to 1024");
  check(options.samples >= 1 && options.samples <= 1024, "n", options.samples, "1 to 1024");
  if (options.beam > 1) {
    check(options.samples <= options.beam, "n", options.samples, fmt::format("at most the beam of {}", options.beam));
    const SamplingOptions& sampling = options.sampling;
    const SamplingOptions standard;
    const bool draws = sampling.seed != standard.seed || sampling.temperature != standard.temperature ||
                       sampling.top_k != standard.top_k || sampling.top_p != standard.top_p ||
                       sampling.min_p != standard.min_p || sampling.repetition_penalty != standard.repetition_penalty ||
                       sampling.presence_penalty != standard.presence_penalty ||
                       sampling.frequency_penalty != standard.frequency_penalty;
    require<ConfigError>(!draws, "generation",
                         "beam search does not sample: leave out the beam, or the sampling options");
  }
}

std::vector<std::vector<Completion>> generate_texts(const TextGenerator& generator,
                                                    std::span<const std::string> prompts,
                                                    const GenerationOptions& options,
                                                    const std::function<std::string(size_t)>& where,
                                                    GenerationListener* listener) {
  validate(options);
  require<ConfigError>(options.beam == 1 || generator.drafting == nullptr, "generation",
                       "drafts do not serve beam search: leave out the drafts, or the beam of {}", options.beam);
  require_writable(generator.tokenizer, options.stop);
  Prompts tokens;
  for (size_t i = 0; i < prompts.size(); ++i) {
    tokens.push_back(tokens_of_prompt(generator, prompts[i], options, where(i)));
  }
  if (prompts.empty()) {
    return {};
  }
  return options.beam > 1 ? search_texts(generator, tokens, options, listener)
                          : sample_texts(generator, tokens, options, listener);
}

}  // namespace heed
