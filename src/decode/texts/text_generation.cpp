#include "decode/texts/text_generation.h"

#include <algorithm>
#include <deque>
#include <mutex>
#include <optional>

#include "base/text/plural.h"
#include "decode/scoring/forced_texts.h"
#include "decode/search/search.h"
#include "decode/texts/generation.h"
#include "decode/texts/scored_tokens.h"
#include "decode/texts/text_stream.h"
#include "text/chat/marked_text.h"
#include "text/lines/multiline.h"
#include "text/token_ids.h"
#include "text/unicode/unicode.h"

namespace heed {
namespace {

constexpr int64_t kMaxSamples = 1024;

// What an empty prompt stands for when the model has no mark.
TokenId beginning_of_stream(const Tokenizer& tokenizer) {
  return line_break_token(tokenizer).value_or(beginning_of_document(tokenizer));
}

std::vector<TokenId> tokens_of_prompt(const TextGenerator& generator, const std::string& prompt,
                                      const GenerationOptions& options, const std::string& where) {
  return prompt_tokens(generator, prompt, options, where).tokens;
}

// The tokens that never occur in a text that the model was trained on, unless they end it.
std::vector<int32_t> suppressed_tokens(const TextGenerator& generator) {
  const SpecialTokens& special = generator.tokenizer.special();
  const bool may_end = generator.documents != Documents::none;
  std::vector<int32_t> suppressed = generator.suppressed;
  for (const TokenId token : {special.pad, special.unk, special.bos, special.sep, special.eos}) {
    const bool ends = token == special.eos || std::ranges::find(generator.ends, token.value) != generator.ends.end();
    if (token != kNoToken && (!ends || !may_end)) {
      suppressed.push_back(token.value);
    }
  }
  return suppressed;
}

TokenRules rules_of(const TextGenerator& generator, const GenerationOptions& options) {
  std::vector<int32_t> suppressed = suppressed_tokens(generator);
  const int32_t eos = generator.tokenizer.special().eos.value;
  const bool has_end = eos >= 0 && std::ranges::find(suppressed, eos) == suppressed.end();
  const bool is_whole = !options.regex.empty() || !options.choices.empty();
  require<ConfigError>(has_end || options.beam == 1 || !is_whole, "generation",
                       "beam search supports a regular expression or choices only for models trained on documents: "
                       "leave out the beam");
  AutomatonCache own(generator.tokenizer);
  auto automaton = (generator.automata == nullptr ? own : *generator.automata)
                       .get({options.rules.suppress, options.regex, options.choices}, suppressed,
                            has_end    ? TextEnd::eos
                            : is_whole ? TextEnd::leaving
                                       : TextEnd::none);
  return {.suppressed = std::move(suppressed),
          .bad_words = generator.bad_words,
          .eos = eos,
          .writing = options.rules,
          .automaton = std::move(automaton)};
}

using Prompts = std::vector<std::vector<TokenId>>;
using Results = std::vector<std::vector<Completion>>;

std::vector<std::vector<int32_t>> ids_of_all(const Prompts& prompts) {
  std::vector<std::vector<int32_t>> ids;
  std::ranges::transform(prompts, std::back_inserter(ids), [](const auto& prompt) { return ids_of(prompt); });
  return ids;
}

// Tells the listener, if there is one, from one thread at a time.
class Announcer {
 public:
  explicit Announcer(GenerationListener* listener) : listener_(listener) {}

  // What became of a text in a step.
  struct News {
    std::span<const ScoredToken> tokens;
    std::string_view piece;
    const Completion* completion = nullptr;
  };
  void tell(const GenerationListener::Text& text, const News& news) {
    if (listener_ == nullptr || (news.tokens.empty() && news.piece.empty() && news.completion == nullptr)) {
      return;
    }
    const std::lock_guard lock(mutex_);
    for (const ScoredToken& token : news.tokens) {
      listener_->on_token(text, token);
    }
    if (!news.piece.empty()) {
      listener_->on_piece(text, news.piece);
    }
    if (news.completion != nullptr) {
      listener_->on_completion(text, *news.completion);
    }
  }

 private:
  GenerationListener* listener_;
  std::mutex mutex_;
};

// Turns the tokens of a prompt's texts into text.
class PromptWriter final : public TextWriter {
 public:
  struct Prompt {
    size_t number;
    const std::vector<TokenId>& tokens;
  };

  PromptWriter(const TextGenerator& generator, const Prompt& prompt, const GenerationOptions& options,
               const TokenRules& rules, Announcer& announcer)
      : generator_(generator),
        prompt_(prompt.number),
        options_(options),
        announcer_(announcer),
        streams_(static_cast<size_t>(options.samples), TextStream(generator.tokenizer, prompt.tokens, options.stop)),
        completions_(streams_.size()),
        finished_(streams_.size()) {
    if (rules.automaton != nullptr && rules.automaton->end() == TextEnd::leaving) {
      automaton_ = rules.automaton.get();
      states_.assign(streams_.size(), automaton_->start(ids_of(prompt.tokens)));
    }
  }

  Verdict take_token(const Written& written) override {
    TextStream& stream = streams_[static_cast<size_t>(written.sample)];
    Completion& result = completions_[static_cast<size_t>(written.sample)];
    if (leaves(written)) {
      finish(written.sample, {.reason = FinishReason::end});
      return Verdict::ended;
    }
    ++result.tokens;
    result.log_probability += written.log_probability;
    std::span<const ScoredToken> token;
    if (options_.each == EachToken::listed) {
      const RankedToken itself{written.token, static_cast<float>(written.log_probability)};
      result.each.push_back(scored(generator_.tokenizer, {itself, stream.length(), written.likeliest}));
      token = {&result.each.back(), 1};
    }
    result.drafted = written.drafted;
    result.accepted = written.accepted;
    result.cached = written.copied;
    const bool ended = TokenId(written.token) == generator_.tokenizer.special().eos ||
                       std::ranges::find(generator_.ends, written.token) != generator_.ends.end();
    const std::string piece = ended ? "" : stream.add(TokenId(written.token));
    if (ended || stream.stopped() || result.tokens == options_.max_tokens) {
      finish(written.sample, {.token = token,
                              .piece = piece,
                              .reason = stream.stopped() ? FinishReason::stop
                                        : ended          ? FinishReason::end
                                                         : FinishReason::length});
      return Verdict::ended;
    }
    result.text += piece;
    announcer_.tell({prompt_, written.sample}, {token, piece});
    return Verdict::go_on;
  }

  void interrupt(Interrupted why) override {
    for (int64_t sample = 0; sample < options_.samples; ++sample) {
      if (!finished_[static_cast<size_t>(sample)]) {
        finish(sample, {.reason = why == Interrupted::deadline ? FinishReason::deadline : FinishReason::cancelled});
      }
    }
  }

  std::vector<Completion> completions() { return std::move(completions_); }

 private:
  // Whether the token leaves what the automaton allows: it ends the text and is not part of it.
  bool leaves(const Written& written) {
    if (automaton_ == nullptr) {
      return false;
    }
    TokenAutomaton::State& state = states_[static_cast<size_t>(written.sample)];
    state = automaton_->next(state, written.token);
    return state == TokenAutomaton::kDead || !automaton_->can_finish(state);
  }

  struct Last {
    std::span<const ScoredToken> token = {};  // none where the text ends without one
    std::string piece = {};
    FinishReason reason;
  };
  void finish(int64_t sample, Last last) {
    TextStream& stream = streams_[static_cast<size_t>(sample)];
    Completion& result = completions_[static_cast<size_t>(sample)];
    if (!stream.stopped()) {
      last.piece += stream.finish();
    }
    result.text += last.piece;
    result.reason = last.reason;
    finished_[static_cast<size_t>(sample)] = true;
    announcer_.tell({prompt_, sample}, {last.token, last.piece, &result});
  }

  const TextGenerator& generator_;
  size_t prompt_;
  const GenerationOptions& options_;
  Announcer& announcer_;
  std::vector<TextStream> streams_;  // of each sample
  std::vector<Completion> completions_;
  std::vector<bool> finished_;
  const TokenAutomaton* automaton_ = nullptr;  // where texts end by leaving it
  std::vector<TokenAutomaton::State> states_;
};

Results sample_texts(const TextGenerator& generator, const Prompts& prompts, const GenerationOptions& options,
                     const TokenRules& rules, GenerationListener* listener) {
  Announcer announcer(listener);
  const Sampler sampler(options.sampling, rules, options.max_tokens);
  const std::vector<std::vector<int32_t>> ids = ids_of_all(prompts);
  std::deque<PromptWriter> writers;
  std::deque<GenerationRequest> texts;
  std::vector<Request*> requests;
  for (size_t i = 0; i < prompts.size(); ++i) {
    PromptWriter& writer =
        writers.emplace_back(generator, PromptWriter::Prompt{i, prompts[i]}, options, rules, announcer);
    const GenerationTask task{ids[i], options.samples, sampler, options.sampling.seed, options.likeliest};
    requests.push_back(&texts.emplace_back(task, writer));
  }
  generator.scheduler.run(requests, options.interruption, options.sharing);
  Results results;
  std::ranges::transform(writers, std::back_inserter(results), &PromptWriter::completions);
  return results;
}

Completion completion_of(const TextGenerator& generator, const std::vector<TokenId>& prompt,
                         const Hypothesis& hypothesis, const GenerationOptions& options) {
  TextStream stream(generator.tokenizer, prompt, options.stop);
  Completion completion{.tokens = static_cast<int64_t>(hypothesis.tokens.size()) + (hypothesis.cut_off ? 0 : 1),
                        .log_probability = hypothesis.log_probability,
                        .reason = hypothesis.cut_off ? FinishReason::length : FinishReason::end};
  if (options.each == EachToken::listed) {
    TextStream whole(generator.tokenizer, prompt, {});
    completion.each = scored(generator.tokenizer, hypothesis, whole);
  }
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

void require_biases_of_tokens(const SamplingOptions& options, int64_t vocabulary) {
  for (const TokenBias& bias : options.logit_bias) {
    require<ConfigError>(bias.token >= 0 && bias.token < vocabulary, "logit bias",
                         "there is no token {}: the model's vocabulary has 0 to {}", bias.token, vocabulary - 1);
  }
}

ForcedPhrases forced_phrases_of(const TextGenerator& generator, const GenerationOptions& options) {
  const Tokenizer& tokenizer = generator.tokenizer;
  ForcedPhrases forced = phrases_of_texts(
      options.force, {tokenizer, [&](const std::string& text) { return encode_text(tokenizer, text); }}, options.rules);
  if (!forced.empty()) {
    require<ConfigError>(options.stop.empty(), "forced texts", "a stop text might cut them off: leave it out");
    require<ConfigError>(
        options.beam > 1, "forced texts",
        "need beam search, with a beam of at least {}; when sampling, a regular expression can say what a text "
        "contains",
        forced.tokens() + 1);
    require_beam(forced, options.beam);
  }
  return forced;
}

// A text must contain all phrases one token before it would be cut off.
void require_room_for(const ForcedPhrases& forced, int64_t max_tokens, const std::string& where) {
  require<FormatError>(forced.empty() || forced.tokens() < max_tokens, where,
                       "the forced texts take {} token{} and an end, but a text after this prompt has at most {}",
                       forced.tokens(), plural(forced.tokens()), max_tokens);
}

void require_text_that_fits(const TokenAutomaton& automaton, std::span<const int32_t> prompt, int64_t max_tokens,
                            const std::string& where) {
  const TokenAutomaton::State start = automaton.start(prompt);
  require<ConfigError>(automaton.can_finish(start), where,
                       "the model's tokenizer cannot write any text that is allowed after this prompt");
  require<ConfigError>(automaton.can_finish_in(start, max_tokens), where,
                       "every text that is allowed after this prompt has more than {} token{}", max_tokens,
                       plural(max_tokens));
}

// The most tokens of a text after the prompt. A sampled one may have more than the model takes, a hypothesis of beam
// search may not.
int64_t room_after(const TextGenerator& generator, size_t prompt, const GenerationOptions& options) {
  if (options.beam == 1) {
    return options.max_tokens;
  }
  const int64_t room = generator.scheduler.inference().max_length() - static_cast<int64_t>(prompt) + 1;
  return std::min(options.max_tokens, room);
}

// Turns the hypotheses of a prompt into texts as soon as they are found.
class PromptSearch final : public SearchListener {
 public:
  PromptSearch(const TextGenerator& generator, size_t prompt, const std::vector<TokenId>& tokens,
               const GenerationOptions& options, Announcer& announcer)
      : generator_(generator), prompt_(prompt), tokens_(tokens), options_(options), announcer_(announcer) {}

  void on_results(std::vector<Hypothesis> results, int64_t copied) override {
    for (const Hypothesis& hypothesis : results) {
      Completion& completion = completions_.emplace_back(completion_of(generator_, tokens_, hypothesis, options_));
      completion.cached = copied;
      announcer_.tell({prompt_, std::ssize(completions_) - 1}, {completion.each, completion.text, &completion});
    }
  }

  std::vector<Completion> completions() { return std::move(completions_); }

 private:
  const TextGenerator& generator_;
  size_t prompt_;
  const std::vector<TokenId>& tokens_;
  const GenerationOptions& options_;
  Announcer& announcer_;
  std::vector<Completion> completions_;
};

Results search_texts(const TextGenerator& generator, const Prompts& prompts, const GenerationOptions& options,
                     const SearchRules& rules, GenerationListener* listener) {
  const TranslationOptions wanted{.beam = options.beam,
                                  .n_best = options.samples,
                                  .each = options.each,
                                  .repetition_penalty = options.sampling.repetition_penalty,
                                  .likeliest = options.likeliest};
  const Sampler greedy({.temperature = 0.0}, rules.tokens);
  const std::vector<std::vector<int32_t>> ids = ids_of_all(prompts);
  Announcer announcer(listener);
  std::deque<PromptSearch> found;
  std::deque<SearchRequest> searches;
  std::vector<Request*> requests;
  for (size_t i = 0; i < prompts.size(); ++i) {
    const SearchTask task{{}, ids[i], room_after(generator, ids[i].size(), options)};
    PromptSearch& of_prompt = found.emplace_back(generator, i, prompts[i], options, announcer);
    requests.push_back(&searches.emplace_back(task, wanted, rules, greedy, &of_prompt));
  }
  generator.scheduler.run(requests, options.interruption, options.sharing);
  std::ranges::for_each(searches, require_finished);
  Results results;
  std::ranges::transform(found, std::back_inserter(results), &PromptSearch::completions);
  return results;
}

}  // namespace

void validate(const GenerationOptions& options) {
  validate(options.sampling);
  constexpr std::string_view kWhere = "generation";
  require_option(options.max_tokens >= 1, kWhere, "max tokens", options.max_tokens, "at least 1");
  validate_likeliest(options.likeliest, options.each, kWhere);
  validate(options.rules);
  require_option(options.rules.min_length <= options.max_tokens, kWhere, "min tokens", options.rules.min_length,
                 fmt::format("at most the max tokens of {}", options.max_tokens));
  require_option(options.beam >= 1 && options.beam <= kMaxBeam, kWhere, "beam", options.beam,
                 fmt::format("1 to {}", kMaxBeam));
  require_option(options.samples >= 1 && options.samples <= kMaxSamples, kWhere, "n", options.samples,
                 fmt::format("1 to {}", kMaxSamples));
  if (options.beam > 1) {
    require_option(options.samples <= options.beam, kWhere, "n", options.samples,
                   fmt::format("at most the beam of {}", options.beam));
    const SamplingOptions& sampling = options.sampling;
    const SamplingOptions standard;
    const bool draws = sampling.seed != standard.seed || sampling.temperature != standard.temperature ||
                       sampling.top_k != standard.top_k || sampling.top_p != standard.top_p ||
                       sampling.min_p != standard.min_p || sampling.presence_penalty != standard.presence_penalty ||
                       sampling.frequency_penalty != standard.frequency_penalty || !sampling.logit_bias.empty();
    require<ConfigError>(!draws, kWhere, "beam search does not sample: leave out the beam, or the sampling options");
  }
}

PromptTokens prompt_tokens(const TextGenerator& generator, const std::string& prompt, const GenerationOptions& options,
                           const std::string& where) {
  require_text(prompt, where);
  const bool spelled = options.marks == PromptMarks::spelled;
  std::vector<TokenId> tokens =
      spelled ? encode_marked_text(generator.tokenizer, prompt) : encode_text(generator.tokenizer, prompt);
  const bool has_mark = !spelled && begins_with_mark(generator.documents, generator.tokenizer);
  const auto max_tokens = static_cast<size_t>(generator.scheduler.inference().max_length()) - (has_mark ? 1 : 0);
  if (tokens.size() > max_tokens) {
    require<TooLongError>(options.too_long == TooLong::truncate, where,
                          "{} tokens, but the model takes at most {}: shorten the prompt, or have it cut from the left",
                          tokens.size(), max_tokens);
    tokens.erase(tokens.begin(), tokens.end() - static_cast<int64_t>(max_tokens));
  }
  if (has_mark) {
    tokens.insert(tokens.begin(), beginning_of_document(generator.tokenizer));
    return {std::move(tokens), 1};
  }
  if (tokens.empty()) {
    return {{beginning_of_stream(generator.tokenizer)}, 1};
  }
  return {std::move(tokens), 0};
}

int64_t count_prompt_tokens(const TextGenerator& generator, const std::string& prompt, const GenerationOptions& options,
                            const std::string& where) {
  return std::ssize(tokens_of_prompt(generator, prompt, options, where));
}

std::vector<std::vector<Completion>> generate_texts(const TextGenerator& generator,
                                                    std::span<const std::string> prompts,
                                                    const GenerationOptions& options,
                                                    const std::function<std::string(size_t)>& where,
                                                    GenerationListener* listener) {
  validate(options);
  require<ConfigError>(options.beam == 1 || !generator.scheduler.drafts(), "generation",
                       "drafts do not serve beam search: leave out the drafts, or the beam of {}", options.beam);
  require_writable(generator.tokenizer, options.stop);
  require_biases_of_tokens(options.sampling, generator.scheduler.inference().model.config().target_vocabulary);
  const TokenRules rules = rules_of(generator, options);
  const ForcedPhrases forced = forced_phrases_of(generator, options);
  Prompts tokens;
  for (size_t i = 0; i < prompts.size(); ++i) {
    tokens.push_back(tokens_of_prompt(generator, prompts[i], options, where(i)));
    if (rules.automaton != nullptr) {
      require_text_that_fits(*rules.automaton, ids_of(tokens.back()),
                             room_after(generator, tokens.back().size(), options), where(i));
    }
    require_room_for(forced, room_after(generator, tokens.back().size(), options), where(i));
  }
  if (prompts.empty()) {
    return {};
  }
  if (options.beam == 1) {
    return sample_texts(generator, tokens, options, rules, listener);
  }
  return search_texts(generator, tokens, options, {.at_limit = AtLimit::cut, .tokens = rules, .forced = forced},
                      listener);
}

std::vector<int32_t> prompt_ids(const TextGenerator& generator, const std::string& prompt,
                                const GenerationOptions& options, const std::string& where) {
  return ids_of(tokens_of_prompt(generator, prompt, options, where));
}

}  // namespace heed
