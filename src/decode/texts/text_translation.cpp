#include "decode/texts/text_translation.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

#include "decode/scoring/forced_texts.h"
#include "decode/search/scored_tokens.h"
#include "decode/texts/alignment.h"
#include "decode/texts/translation_frame.h"
#include "decode/texts/unknown_words.h"
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

// Decoded text may contain any character: tokenizers of characters and bytes have a token for the line break.
std::string without_line_breaks(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return text;
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
    scores = scored(target, hypothesis);
  }
  return {.translation = {.text = without_line_breaks(target.decode(tokens_of(hypothesis.tokens))),
                          .score = hypothesis.score,
                          .log_probability = hypothesis.log_probability,
                          .tokens = std::ssize(hypothesis.token_log_probabilities),
                          .alignment = {},
                          .each = std::move(scores)},
          .ids = std::move(hypothesis.tokens)};
}

TranslatedLine empty_line() { return {.translation = {.text = "", .tokens = 1, .alignment = {}}, .ids = {}}; }

// The tokens of lines, and what their translations begin with.
struct SearchedLines {
  std::vector<std::vector<int32_t>> sources, first;
};

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

using TranslatedLines = std::vector<std::vector<TranslatedLine>>;

// Translations that the model wrote, which it does not for blank lines.
struct ModelTranslations {
  std::vector<std::vector<int32_t>> sources, targets;
  std::vector<TranslatedLine*> lines;
  std::vector<size_t> numbers;  // of the lines that they translate
};

template <class Select>
ModelTranslations translations_of(const std::vector<std::vector<int32_t>>& sources, TranslatedLines& translated,
                                  const Select& wanted) {
  ModelTranslations found;
  for (size_t i = 0; i < sources.size(); ++i) {
    for (TranslatedLine& line : translated[i]) {
      if (sources[i].size() > 1 && wanted(line)) {
        found.sources.push_back(sources[i]);
        found.targets.push_back(line.ids);
        found.lines.push_back(&line);
        found.numbers.push_back(i);
      }
    }
  }
  return found;
}

// Calls use(inference) with the backend of a lane.
template <class Use>
void on_a_lane(const TextTranslator& translator, const Use& use) {
  translator.scheduler.lanes().run(
      1, [&](size_t, Backend& backend) { use(translator.scheduler.inference().on(backend)); });
}

std::vector<std::vector<int64_t>> aligned(const TextTranslator& translator, const ModelTranslations& translations,
                                          const SearchRules& rules) {
  std::vector<std::vector<int64_t>> positions;
  on_a_lane(translator, [&](const Inference& inference) {
    positions = align_pairs(inference, {.sources = translations.sources, .targets = translations.targets}, rules);
  });
  return positions;
}

void align_lines(const TextTranslator& translator, const std::vector<std::vector<int32_t>>& sources,
                 const SearchRules& rules, TranslatedLines& translated) {
  const ModelTranslations all = translations_of(sources, translated, [](const TranslatedLine&) { return true; });
  const std::vector<std::vector<int64_t>> positions = aligned(translator, all, rules);
  for (size_t k = 0; k < positions.size(); ++k) {
    std::vector<AlignedPair>& alignment = all.lines[k]->translation.alignment;
    for (const int64_t source : positions[k]) {
      alignment.push_back({source, static_cast<int64_t>(alignment.size())});
    }
  }
}

// Replaces each unknown word by the source's word that it attends to most.
void copy_unknown_words(const TextTranslator& translator, const SearchedLines& searched,
                        std::span<const std::string> lines, const SearchRules& rules, TranslatedLines& translated) {
  const int32_t unknown = translator.tokenizers.target.special().unk.value;
  const auto is_unknown = [unknown](int32_t token) { return token == unknown; };
  const ModelTranslations with_unknown = translations_of(searched.sources, translated, [&](const TranslatedLine& line) {
    return std::ranges::any_of(line.ids, is_unknown);
  });
  const std::vector<std::vector<int64_t>> positions = aligned(translator, with_unknown, rules);
  for (size_t k = 0; k < positions.size(); ++k) {
    const std::vector<std::string> words =
        words_of_tokens(translator.tokenizers.source, lines[with_unknown.numbers[k]]);
    std::vector<std::string> copied;
    for (size_t t = 0; t < positions[k].size(); ++t) {
      if (is_unknown(with_unknown.targets[k][t])) {
        const auto source = static_cast<size_t>(positions[k][t]);
        copied.push_back(source < words.size() ? words[source] : "");
      }
    }
    std::string& text = with_unknown.lines[k]->translation.text;
    text = replace_unknown(translator.tokenizers.target, text, copied);
  }
}

// Adds the coverage penalty to the scores, and sorts the translations by them.
void add_coverage(const TextTranslator& translator, const std::vector<std::vector<int32_t>>& sources,
                  const TranslationOptions& options, const SearchRules& rules, TranslatedLines& translated) {
  const ModelTranslations all = translations_of(sources, translated, [](const TranslatedLine&) { return true; });
  std::vector<double> coverage;
  on_a_lane(translator, [&](const Inference& inference) {
    coverage = coverage_of_pairs(inference, {.sources = all.sources, .targets = all.targets}, rules);
  });
  for (size_t k = 0; k < coverage.size(); ++k) {
    all.lines[k]->translation.score += options.coverage_penalty * coverage[k];
  }
  for (std::vector<TranslatedLine>& line : translated) {
    std::ranges::stable_sort(line, std::greater(), [](const TranslatedLine& l) { return l.translation.score; });
    line.resize(std::min(line.size(), static_cast<size_t>(options.n_best)));
  }
}

using Steps = std::vector<std::vector<SearchedToken>>;

Steps with_pieces(const Tokenizer& target, Steps steps) {
  for (std::vector<SearchedToken>& step : steps) {
    for (SearchedToken& token : step) {
      token.piece = target.piece(TokenId(token.id));
    }
  }
  return steps;
}

// Translates the lines that are not blank.
void search_lines(const TextTranslator& translator, const SearchedLines& lines, const TranslationOptions& options,
                  const SearchRules& rules, const LineName& name, std::vector<std::vector<TranslatedLine>>& results) {
  const Sampler greedy({.temperature = 0.0}, rules.tokens);
  const std::vector<std::vector<int32_t>>& sources = lines.sources;
  const int64_t max_length = translator.scheduler.inference().max_length();
  const std::vector<size_t> order = longest_first(sources);
  const std::vector<std::vector<int32_t>> candidates = candidates_of(translator, lines, rules.forced);
  const bool lists_steps = options.steps == SearchSteps::listed && options.groups == 1 && options.alternatives == 0;
  std::vector<Steps> steps(lists_steps ? sources.size() : 0);
  std::deque<SearchRequest> searches;
  std::vector<Request*> requests;
  for (const size_t i : order) {
    const size_t prefix = lines.first[i].size() - 1;
    const auto forced = static_cast<size_t>(rules.forced.tokens());
    const SearchTask task{sources[i],
                          lines.first[i],
                          max_target_length(options, {sources[i].size(), prefix, forced}, max_length),
                          static_cast<int64_t>(prefix),
                          candidates[i],
                          lists_steps ? &steps[i] : nullptr};
    if (!rules.forced.empty()) {
      require_room(rules.forced, std::span(lines.first[i]).subspan(1), task.max_length, name_line(name, i));
    }
    requests.push_back(&searches.emplace_back(task, options, rules, greedy));
  }
  translator.scheduler.run(requests, options.interruption, options.sharing);
  for (size_t k = 0; k < order.size(); ++k) {
    require_finished(searches[k]);
    std::vector<TranslatedLine>& result = results[order[k]];
    result.clear();
    for (Hypothesis& hypothesis : searches[k].results()) {
      result.push_back(line_of(translator.tokenizers.target, std::move(hypothesis), options.each));
    }
    if (lists_steps) {
      result.front().translation.steps = with_pieces(translator.tokenizers.target, std::move(steps[order[k]]));
    }
  }
}

}  // namespace

std::vector<int32_t> source_tokens(const TextTranslator& translator, std::string_view line) {
  const TranslationFrame frame(translator.tokenizers, translator.marks, {});
  return frame.around_source(ids_of(translator.tokenizers.source.encode(line)));
}

std::vector<std::vector<TranslatedLine>> translate_lines(const TextTranslator& translator,
                                                         std::span<const std::string> lines,
                                                         const TranslationOptions& options, const LineName& name,
                                                         TooLong too_long) {
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
  search_lines(translator, searched, options, rules, name, results);
  if (options.coverage_penalty > 0.0) {
    add_coverage(translator, sources, options, rules, results);
  }
  if (options.unknown == UnknownWords::copy) {
    copy_unknown_words(translator, searched, lines, rules, results);
  }
  if (options.alignments == Alignments::pieces) {
    align_lines(translator, sources, rules, results);
  }
  return results;
}

std::vector<PairScore> score_lines(const TextTranslator& translator, const LinePairs& pairs, const LinePairName& name,
                                   TooLong too_long, const LanguagePair& languages) {
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
  std::vector<PairScore> scores(sources.size());
  const std::vector<std::vector<size_t>> batches = batches_by_length(inputs);
  translator.scheduler.lanes().run(batches.size(), [&](size_t b, Backend& backend) {
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
      scores[batch[k]] = {found[k], static_cast<int64_t>(batch_targets[k].size()) + 1};
    }
  });
  return scores;
}

}  // namespace heed
