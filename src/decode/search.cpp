#include "decode/search.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace heed {
namespace {

// The search of one batch. Hypotheses of one start are neighbours, in the order of their ranks.
class BatchSearch {
 public:
  BatchSearch(Stepper& stepper, std::span<const SearchStart> starts, const TranslationOptions& options,
              const SearchRules& rules)
      : stepper_(stepper), starts_(starts) {
    for (const SearchStart& start : starts) {
      searches_.emplace_back(options, rules, start.max_length);
      sequences_.push_back(start.sequence);
    }
  }

  std::vector<std::vector<Hypothesis>> run() {
    for (bool first = true; !sequences_.empty(); first = false) {
      step(first ? first_tokens() : last_tokens());
    }
    std::vector<std::vector<Hypothesis>> results;
    for (SentenceSearch& search : searches_) {
      results.push_back(search.results());
    }
    return results;
  }

 private:
  const std::vector<Fresh>& first_tokens() {
    for (const SearchStart& start : starts_) {
      fresh_.push_back({start.sequence, start.tokens});
    }
    return fresh_;
  }

  const std::vector<Fresh>& last_tokens() {
    fresh_.clear();
    auto sequence = sequences_.begin();
    for (const SentenceSearch& search : searches_) {
      for (int64_t h = 0; h < search.active(); ++h) {
        fresh_.push_back({*sequence++, search.last_token(h)});
      }
    }
    return fresh_;
  }

  void step(const std::vector<Fresh>& fresh) {
    const NextTokens next = stepper_.next(fresh);
    going_on_.clear();
    int64_t first_row = 0;
    for (SentenceSearch& search : searches_) {
      const int64_t active = search.active();
      if (active > 0) {
        const std::vector<int64_t> parents = search.advance(next.log_probs, first_row);
        replace(std::span(sequences_).subspan(static_cast<size_t>(first_row), static_cast<size_t>(active)), parents);
      }
      first_row += active;
    }
    sequences_.swap(going_on_);
  }

  // A parent's sequence becomes that of its first child, and is forked for the others; without children it is removed.
  void replace(std::span<const SequenceId> parents, const std::vector<int64_t>& parent_of_child) {
    for (size_t parent = 0; parent < parents.size(); ++parent) {
      if (!std::ranges::count(parent_of_child, static_cast<int64_t>(parent))) {
        stepper_.remove(parents[parent]);
      }
    }
    for (auto child = parent_of_child.begin(); child != parent_of_child.end(); ++child) {
      const SequenceId parent = parents[static_cast<size_t>(*child)];
      const bool is_first = std::find(parent_of_child.begin(), child, *child) == child;
      going_on_.push_back(is_first ? parent : stepper_.fork(parent));
    }
  }

  Stepper& stepper_;
  std::span<const SearchStart> starts_;
  std::vector<SentenceSearch> searches_;
  std::vector<SequenceId> sequences_, going_on_;
  std::vector<Fresh> fresh_;
};

// Greedy search with drafts.
class DraftedSearch {
 public:
  DraftedSearch(Stepper& stepper, std::span<const SearchStart> starts, const TranslationOptions& options,
                const SearchRules& rules, Speculation& speculation)
      : stepper_(stepper), end_(rules.eos), speculation_(speculation) {
    for (const SearchStart& start : starts) {
      sentences_.push_back({.start = start,
                            .search = SentenceSearch(options, rules, start.max_length),
                            .tokens = {start.tokens.begin(), start.tokens.end()},
                            .draft = {}});
    }
  }

  std::vector<std::vector<Hypothesis>> run() {
    while (step() > 0) {
    }
    std::vector<std::vector<Hypothesis>> results;
    for (Sentence& sentence : sentences_) {
      results.push_back(sentence.search.results());
    }
    return results;
  }

 private:
  struct Sentence {
    SearchStart start;
    SentenceSearch search;
    std::vector<int32_t> tokens;  // the first ones and the hypothesis's, and during a step the draft
    size_t read = 0;              // how many of them the model has read
    std::optional<size_t> draft;  // which of this step's drafts is the sentence's
  };

  // How many tokens were written.
  int64_t step() {
    begin_drafts();
    fresh_.clear();
    for (Sentence& sentence : sentences_) {
      if (sentence.search.active() > 0) {
        const std::span<const int32_t> draft = draft_of(sentence);
        sentence.tokens.insert(sentence.tokens.end(), draft.begin(), draft.end());
        fresh_.push_back({sentence.start.sequence, std::span(sentence.tokens).subspan(sentence.read),
                          draft.empty() ? Wanted::last : Wanted::all});
      }
    }
    if (fresh_.empty()) {
      return 0;
    }
    const NextTokens next = stepper_.next(fresh_);
    int64_t row = 0, written = 0;
    for (Sentence& sentence : sentences_) {
      if (sentence.search.active() > 0) {
        const size_t drafted = draft_of(sentence).size();
        sentence.tokens.resize(sentence.tokens.size() - drafted);
        sentence.read = sentence.tokens.size();
        written += write(sentence, next, row);
        row += static_cast<int64_t>(drafted) + 1;
      }
    }
    speculation_.end_step(written);
    return written;
  }

  void begin_drafts() {
    tasks_.clear();
    int64_t others = 0;
    for (size_t i = 0; i < sentences_.size(); ++i) {
      Sentence& sentence = sentences_[i];
      sentence.draft.reset();
      if (sentence.search.active() == 0) {
        continue;
      }
      if (sentence.read == 0) {
        ++others;  // the first step
        continue;
      }
      const int64_t room = stepper_.max_length() - stepper_.length(sentence.start.sequence) - 1;
      sentence.draft = tasks_.size();
      tasks_.push_back({.text = static_cast<int64_t>(i),
                        .source = sentence.start.source,
                        .tokens = sentence.tokens,
                        .counts = no_counts_,
                        .draw = {},
                        .most = std::min(room, sentence.search.further_rows())});
    }
    drafts_ = speculation_.begin_step(tasks_, others);
  }

  std::span<const int32_t> draft_of(const Sentence& sentence) const {
    return sentence.draft ? std::span<const int32_t>(drafts_[*sentence.draft].tokens) : std::span<const int32_t>{};
  }

  // The sentence has read its tokens and its draft; `row` is that of the last token before the draft. Returns how many
  // tokens were written: one, and another for each token of the draft that was right.
  int64_t write(Sentence& sentence, const NextTokens& next, int64_t row) {
    const std::span<const int32_t> draft = draft_of(sentence);
    const auto drafted = static_cast<int64_t>(draft.size());
    int64_t right = 0, written = 0;
    bool is_right = true, goes_on = true;
    while (is_right && goes_on) {
      goes_on = !sentence.search.advance(next.log_probs, row + written).empty();
      const int32_t token = goes_on ? sentence.search.last_token(0).front() : end_;
      is_right = written < drafted && token == draft[static_cast<size_t>(written)];
      right += is_right ? 1 : 0;
      sentence.tokens.push_back(token);
      ++written;
    }
    if (drafted > 0) {
      speculation_.checked(*sentence.draft, right, std::min(written, drafted));
    }
    sentence.read += static_cast<size_t>(right);
    if (!goes_on) {
      stepper_.remove(sentence.start.sequence);
      speculation_.forget(&sentence - sentences_.data());
    } else if (drafted > right) {
      stepper_.roll_back(sentence.start.sequence, static_cast<int64_t>(sentence.read));
    }
    return written;
  }

  Stepper& stepper_;
  int32_t end_;
  Speculation& speculation_;
  const TokenCounts no_counts_;
  std::vector<Sentence> sentences_;
  std::vector<DraftTask> tasks_;
  std::span<const Draft> drafts_;
  std::vector<Fresh> fresh_;
};

}  // namespace

void validate(const TranslationOptions& options) {
  const int64_t beam = options.beam;
  require<ConfigError>(beam >= 1 && beam <= kMaxBeam, "search", "beam is {}, expected 1 to {}", beam, kMaxBeam);
  require<ConfigError>(options.n_best >= 1 && options.n_best <= beam, "search",
                       "n-best is {}, expected 1 to the beam of {}", options.n_best, beam);
  require<ConfigError>(options.length_penalty >= 0.0 && options.length_penalty <= kMaxLengthPenalty, "search",
                       "length penalty is {}, expected 0 to {}", options.length_penalty, kMaxLengthPenalty);
  require<ConfigError>(options.max_length >= 0, "search",
                       "max length is {}, expected at least 1, or 0 for twice the source and 16 more",
                       options.max_length);
}

std::vector<std::vector<Hypothesis>> search(Stepper& stepper, std::span<const SearchStart> starts,
                                            const TranslationOptions& options, const SearchRules& rules,
                                            Speculation* speculation) {
  validate(options);
  if (speculation != nullptr) {
    require<ConfigError>(options.beam == 1, "search", "drafts need a beam of 1, not {}", options.beam);
    return DraftedSearch(stepper, starts, options, rules, *speculation).run();
  }
  return BatchSearch(stepper, starts, options, rules).run();
}

}  // namespace heed
