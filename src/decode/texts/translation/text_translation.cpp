#include "decode/texts/translation/text_translation.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

#include "base/told_results.h"
#include "decode/scoring/forced_texts.h"
#include "decode/texts/finished_lines.h"
#include "decode/texts/scored_tokens.h"
#include "decode/texts/search_events.h"
#include "decode/texts/translation/translation_frame.h"
#include "decode/texts/translation/translation_news.h"
#include "text/token_ids.h"
#include "text/unicode/unicode.h"

namespace heed {
namespace {

constexpr int64_t kBatchTokens = 2048;  // of sources
constexpr int64_t kBatchSentences = 64;

std::string name_line(const LineName& name, size_t line) {
  return name ? name(line) : fmt::format("line {}", line + 1);
}

// How many tokens of a line the model takes, and what happens to the rest.
struct Room {
  int64_t max_length;
  TooLong too_long;
  int64_t around;  // tokens beside those of the text
};

std::vector<int32_t> tokens_of_line(const Tokenizer& tokenizer, const std::string& line, const Room& room,
                                    const LineName& name, size_t i) {
  require_text(line, name_line(name, i));
  std::vector<int32_t> ids = ids_of(tokenizer.encode(line));
  if (const auto tokens = static_cast<int64_t>(ids.size()) + room.around; tokens > room.max_length) {
    require<FormatError>(room.too_long == TooLong::truncate, name_line(name, i),
                         "{} tokens with the end, but the model takes at most {}: shorten or split the line", tokens,
                         room.max_length);
    ids.resize(static_cast<size_t>(std::max<int64_t>(0, room.max_length - room.around)));
  }
  return ids;
}

// The indices of the sources that are not empty.
std::vector<size_t> longest_first(const std::vector<std::vector<int32_t>>& sources) {
  std::vector<size_t> order(sources.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::erase_if(order, [&](size_t i) { return sources[i].empty(); });
  std::ranges::stable_sort(order, std::greater(), [&](size_t i) { return sources[i].size(); });
  return order;
}

// Batches of pairs to be scored together, by the lengths of their sources.
std::vector<std::vector<size_t>> batches_by_length(const std::vector<std::vector<int32_t>>& sources) {
  std::vector<std::vector<size_t>> batches;
  int64_t tokens = 0;
  for (const size_t i : longest_first(sources)) {
    const auto more = static_cast<int64_t>(sources[i].size());
    const bool full = batches.empty() || tokens + more > kBatchTokens ||
                      static_cast<int64_t>(batches.back().size()) == kBatchSentences;
    if (full) {
      batches.emplace_back();
      tokens = 0;
    }
    batches.back().push_back(i);
    tokens += more;
  }
  return batches;
}

// The tokens that each line's translation begins with: those of all translations, and the prefix if there are prefixes.
std::vector<std::vector<int32_t>> first_tokens(const TextTranslator& translator, const TranslationFrame& frame,
                                               std::span<const std::string> lines, const TranslationOptions& options,
                                               const LineName& name) {
  require<ConfigError>(options.prefixes.empty() || options.prefixes.size() == lines.size(), "translation",
                       "{} prefixes for {} lines", options.prefixes.size(), lines.size());
  const int64_t model_length = translator.scheduler.inference().max_length();
  const int64_t limit = options.max_length > 0 ? std::min(options.max_length, model_length) : model_length;
  std::vector<std::vector<int32_t>> first(lines.size(), frame.target_start());
  for (size_t i = 0; i < options.prefixes.size(); ++i) {
    const std::string where = "the prefix of " + name_line(name, i);
    require_text(options.prefixes[i], where);
    const std::vector<int32_t> prefix = ids_of(translator.tokenizers.target.encode(options.prefixes[i]));
    first[i].insert(first[i].end(), prefix.begin(), prefix.end());
    const auto with_end = static_cast<int64_t>(first[i].size());
    require<FormatError>(with_end <= limit, where, "{} tokens with the end, but a translation has at most {}", with_end,
                         limit);
  }
  return first;
}

// Requires bos and the prefix of each translation to keep to the rules for translations.
void require_allowed(const std::vector<std::vector<int32_t>>& first, const TokenRules& rules, const LineName& name) {
  for (size_t i = 0; rules.automaton != nullptr && i < first.size(); ++i) {
    const std::span<const int32_t> tokens = first[i];
    const TokenAutomaton::State state = rules.automaton->after_text(tokens.first(1), tokens.subspan(1));
    require<ConfigError>(state != TokenAutomaton::kDead && rules.automaton->can_finish(state),
                         "the prefix of " + name_line(name, i), "contains a suppressed text");
  }
}

ForcedPhrases forced_phrases(const Tokenizer& target, const TranslationOptions& options) {
  ForcedPhrases forced = phrases_of_texts(
      options.force, {target, [&](const std::string& text) { return target.encode(text); }}, options.rules);
  if (!forced.empty()) {
    require<ConfigError>(options.groups == 1 && options.alternatives == 0, "forced texts",
                         "cannot be combined with groups or alternatives");
    require_beam(forced, options.beam);
  }
  return forced;
}

// FormatError unless a translation with that prefix has room for the phrases and its end.
void require_room(const ForcedPhrases& forced, std::span<const int32_t> prefix, int64_t max_length,
                  const std::string& where) {
  const int64_t needed = static_cast<int64_t>(prefix.size()) + forced.tokens() - forced.met(prefix) + 1;
  require<FormatError>(needed <= max_length, where,
                       "{} tokens with the prefix, the forced texts and the end, but a translation has at most {}",
                       needed, max_length);
}

SearchRules rules_of(const TextTranslator& translator, const TranslationFrame& frame,
                     const WritingRules& writing = {}) {
  const Tokenizer& target = translator.tokenizers.target;
  SearchRules rules{.at_limit = translator.marks.at_limit,
                    .bos = frame.target_start().front(),
                    .certain = std::ssize(frame.target_start()) - 1,
                    .tokens = {.suppressed = translator.marks.suppressed,
                               .bad_words = translator.marks.bad_words,
                               .eos = target.special().eos.value,
                               .writing = writing}};
  for (const TokenId token : {target.special().pad, target.special().bos}) {
    if (token != target.special().eos) {
      rules.tokens.suppressed.push_back(token.value);
    }
  }
  AutomatonCache own(target);
  rules.tokens.automaton = (translator.automata == nullptr ? own : *translator.automata)
                               .get({writing.suppress}, rules.tokens.suppressed, TextEnd::eos);
  return rules;
}

TranslatedLine line_of(const Tokenizer& target, Hypothesis&& hypothesis, EachToken each) {
  std::vector<ScoredToken> scores;
  if (each == EachToken::listed) {
    TextStream stream(target, {}, {});
    scores = scored(target, hypothesis, stream);
  }
  return {.translation = {.text = translation_text(target, hypothesis.tokens),
                          .score = hypothesis.score,
                          .log_probability = hypothesis.log_probability,
                          .tokens = std::ssize(hypothesis.token_log_probabilities),
                          .alignment = {},
                          .each = std::move(scores),
                          .place = hypothesis.place},
          .ids = std::move(hypothesis.tokens)};
}

TranslatedLine empty_line() { return {.translation = {.text = "", .tokens = 1, .alignment = {}}, .ids = {}}; }

// The tokens that each line's translations may have, where there is a shortlist; none for a blank line.
std::vector<std::vector<int32_t>> candidates_of(const TextTranslator& translator, const SearchedLines& lines,
                                                const ForcedPhrases& forced) {
  std::vector<std::vector<int32_t>> candidates(lines.sources.size());
  for (size_t i = 0; translator.shortlist != nullptr && i < candidates.size(); ++i) {
    if (!lines.sources[i].empty()) {
      std::vector<int32_t> also(lines.first[i].begin() + 1, lines.first[i].end());
      for (const std::vector<int32_t>& phrase : forced.phrases()) {
        also.insert(also.end(), phrase.begin(), phrase.end());
      }
      candidates[i] = translator.shortlist->candidates(lines.sources[i], also);
    }
  }
  return candidates;
}

// Lines that are being translated, with all that their translations depend on.
struct Lines {
  const TextTranslator& translator;
  std::span<const std::string> texts;
  const SearchedLines& searched;
  const TranslationOptions& options;
  const SearchRules& rules;
};

// The translations of the line with that number.
std::vector<TranslatedLine> lines_of(const Lines& lines, size_t number, std::vector<Hypothesis> hypotheses) {
  std::vector<TranslatedLine> found;
  found.reserve(hypotheses.size());
  for (Hypothesis& hypothesis : hypotheses) {
    found.push_back(line_of(lines.translator.tokenizers.target, std::move(hypothesis), lines.options.each));
    found.back().translation.source_tokens = std::ssize(lines.searched.sources[number]);
  }
  return found;
}

void add_pieces(const Tokenizer& target, BeamSteps& steps) {
  for (std::vector<BeamHypothesis>& step : steps) {
    for (BeamHypothesis& hypothesis : step) {
      hypothesis.piece = target.piece(TokenId(hypothesis.id));
    }
  }
}

// The searches of the lines that are not blank, the longest first.
class LineSearches {
 public:
  // Where there are events, the searches are to be run by them.
  LineSearches(const Lines& lines, const LineName& name, SearchEvents* events)
      : lines_(lines),
        greedy_({.temperature = 0.0}, lines.rules.tokens),
        order_(longest_first(lines.searched.sources)),
        candidates_(candidates_of(lines.translator, lines.searched, lines.rules.forced)),
        of_lines_(lines.texts.size()) {
    const TranslationOptions& options = lines.options;
    if (options.steps == SearchSteps::listed) {
      recorders_.resize(lines.texts.size());
    }
    for (const size_t i : order_) {
      SearchRequest& search = searches_.emplace_back(task_of(i, name), lines.options, lines.rules, greedy_,
                                                     events == nullptr ? nullptr : &events->listener(i));
      requests_.push_back(&search);
      of_lines_[i] = &search;
    }
  }

  std::span<Request* const> requests() const { return requests_; }
  const std::vector<size_t>& order() const { return order_; }
  // InterruptedError if one was interrupted.
  void require_finished() const { std::ranges::for_each(searches_, heed::require_finished); }
  std::vector<Hypothesis> results(size_t k) { return searches_[k].results(); }
  // Adds how a line's search went, its steps where they are listed, to what is found of it in the end.
  void add_search(size_t line, std::vector<TranslatedLine>& found) {
    for (TranslatedLine& one : found) {
      one.translation.first_token = of_lines_[line]->first_token();
    }
    if (!recorders_.empty()) {
      BeamTrace& trace = found.front().translation.trace;
      trace = recorders_[line].take();
      add_pieces(lines_.translator.tokenizers.target, trace.steps);
    }
  }

 private:
  SearchTask task_of(size_t line, const LineName& name) {
    const std::vector<int32_t>& source = lines_.searched.sources[line];
    const std::vector<int32_t>& first = lines_.searched.first[line];
    const ForcedPhrases& phrases = lines_.rules.forced;
    const size_t prefix = first.size() - 1;
    const auto forced = static_cast<size_t>(phrases.tokens());
    const int64_t limit = max_target_length(lines_.options, {source.size(), prefix, forced},
                                            lines_.translator.scheduler.inference().max_length());
    if (!phrases.empty()) {
      require_room(phrases, std::span(first).subspan(1), limit, name_line(name, line));
    }
    return {source,
            first,
            limit,
            static_cast<int64_t>(prefix),
            candidates_[line],
            recorders_.empty() ? nullptr : &recorders_[line]};
  }

  const Lines& lines_;
  const Sampler greedy_;
  const std::vector<size_t> order_;
  const std::vector<std::vector<int32_t>> candidates_;
  std::vector<BeamRecorder> recorders_;  // of each line, where its search is listed
  std::deque<SearchRequest> searches_;
  std::vector<Request*> requests_;
  std::vector<const SearchRequest*> of_lines_;  // null for a blank one
};

void search_lines(const Lines& lines, const LineName& name, TranslatedLines& results) {
  LineSearches searches(lines, name, nullptr);
  lines.translator.scheduler.run(searches.requests(), lines.options.interruption, lines.options.sharing);
  searches.require_finished();
  for (size_t k = 0; k < searches.order().size(); ++k) {
    const size_t line = searches.order()[k];
    results[line] = lines_of(lines, line, searches.results(k));
  }
  finish_lines(lines.translator, lines.searched, lines.texts, lines.options, lines.rules, results);
  for (const size_t line : searches.order()) {
    searches.add_search(line, results[line]);
  }
}

// The same, where each line is finished as soon as its search has ended.
void search_and_tell(const Lines& lines, const LineName& name, TranslationListener& listener,
                     TranslatedLines& results) {
  const TextTranslator& translator = lines.translator;
  const std::span<const std::string> texts = lines.texts;
  const SearchedLines& searched = lines.searched;
  const TranslationOptions& options = lines.options;
  const SearchRules& rules = lines.rules;
  const bool grows = GroupSearch::width(options) == 1 && options.unknown != UnknownWords::copy;
  SearchEvents events(grows ? SearchEvents::Growth::told : SearchEvents::Growth::left_out);
  LineSearches searches(lines, name, &events);
  TranslationNews news(translator.tokenizers.target, options.each, listener);
  for (size_t i = 0; i < texts.size(); ++i) {
    if (searched.sources[i].empty()) {
      news.ready(i, results[i]);
    }
  }
  const auto take = [&](SearchEvent&& event) {
    const size_t i = event.search;
    if (!event.steps.empty()) {
      add_pieces(translator.tokenizers.target, event.steps);
      news.considered(i, event.steps);
      return;
    }
    if (!event.results) {
      news.grown(i, event.grown);
      return;
    }
    TranslatedLines one{lines_of(lines, i, std::move(*event.results))};
    finish_lines(translator, {{searched.sources[i]}, {searched.first[i]}}, texts.subspan(i, 1), options, rules, one);
    results[i] = std::move(one.front());
    searches.add_search(i, results[i]);
    news.ready(i, results[i]);
  };
  events.run(translator.scheduler, searches.requests(), {options.interruption, options.sharing}, take);
  searches.require_finished();
}

}  // namespace

std::vector<int32_t> source_tokens(const TextTranslator& translator, std::string_view line) {
  const TranslationFrame frame(translator.tokenizers, translator.marks, {});
  return frame.around_source(ids_of(translator.tokenizers.source.encode(line)));
}

std::vector<std::vector<TranslatedLine>> translate_lines(const TextTranslator& translator,
                                                         std::span<const std::string> lines,
                                                         const TranslationOptions& options, const LineName& name,
                                                         TooLong too_long, TranslationListener* listener) {
  require<ConfigError>(GroupSearch::width(options) == 1 || !translator.scheduler.drafts(), "translation",
                       "drafts do not serve beam search: leave out the drafts, or the beam of {}",
                       GroupSearch::width(options));
  const TranslationFrame frame(translator.tokenizers, translator.marks, options.languages);
  frame.require_target();
  SearchRules rules = rules_of(translator, frame, options.rules);
  if (options.unknown == UnknownWords::avoid) {
    rules.tokens.suppressed.push_back(translator.tokenizers.target.special().unk.value);
  }
  rules.forced = forced_phrases(translator.tokenizers.target, options);
  const Room room{translator.scheduler.inference().max_length(), too_long, frame.tokens_around_source()};
  SearchedLines searched{std::vector<std::vector<int32_t>>(lines.size()),
                         first_tokens(translator, frame, lines, options, name)};
  require_allowed(searched.first, rules.tokens, name);
  require<ConfigError>(options.rules.min_length <= room.max_length, "translation",
                       "min tokens is {}, but the model writes at most {} tokens", options.rules.min_length,
                       room.max_length);
  std::vector<std::vector<int32_t>>& sources = searched.sources;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (!is_blank(lines[i])) {
      sources[i] = frame.around_source(tokens_of_line(translator.tokenizers.source, lines[i], room, name, i));
    }
  }
  std::vector<std::vector<TranslatedLine>> results(lines.size(), {empty_line()});
  const Lines all{translator, lines, searched, options, rules};
  if (listener == nullptr) {
    search_lines(all, name, results);
  } else {
    search_and_tell(all, name, *listener, results);
  }
  return results;
}

std::vector<PairScore> score_lines(const TextTranslator& translator, const LinePairs& pairs, const LinePairName& name,
                                   TooLong too_long, const LanguagePair& languages, const Interruption& interruption,
                                   const Sharing& sharing, const OnResult<PairScore>& on_result) {
  const auto& [sources, targets] = pairs;
  require(sources.size() == targets.size(), "score", "{} sources for {} targets", sources.size(), targets.size());
  const TranslationFrame frame(translator.tokenizers, translator.marks, languages);
  frame.require_target();
  const SearchRules rules = rules_of(translator, frame);
  const Room room{translator.scheduler.inference().max_length(), too_long, frame.tokens_around_source()};
  const Room target_room{room.max_length, too_long, std::ssize(frame.target_start())};
  std::vector<std::vector<int32_t>> inputs, outputs;
  for (size_t i = 0; i < sources.size(); ++i) {
    inputs.push_back(
        frame.around_source(tokens_of_line(translator.tokenizers.source, sources[i], room, name.source, i)));
    outputs.push_back(
        frame.forced_target(tokens_of_line(translator.tokenizers.target, targets[i], target_room, name.target, i)));
  }
  ToldResults<PairScore> scores(sources.size(), on_result);
  const std::vector<std::vector<size_t>> batches = batches_by_length(inputs);
  const auto score_batch = [&](size_t b, Backend& backend) {
    const Inference inference = translator.scheduler.inference().on(backend);
    const std::vector<size_t>& batch = batches[b];
    std::vector<std::vector<int32_t>> batch_sources, batch_targets;
    for (const size_t i : batch) {
      batch_sources.push_back(inputs[i]);
      batch_targets.push_back(outputs[i]);
    }
    const std::vector<double> found =
        score_pairs(inference, {.sources = batch_sources, .targets = batch_targets}, rules);
    for (size_t k = 0; k < batch.size(); ++k) {
      scores.add(batch[k], {found[k], static_cast<int64_t>(batch_targets[k].size()) + 1});
    }
  };
  translator.scheduler.lanes().run(batches.size(), score_batch, interruption, sharing);
  return scores.take();
}

}  // namespace heed
