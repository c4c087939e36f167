// With s the number of tokens with which all texts t of an item begin as its prompt does,
//   score(t) = sum over i >= s of log p(t[i] | t[0], ..., t[i - 1])
// The tokens before s are read once; each text goes on from a fork.
#include "decode/texts/continuation_scores.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "text/lines/multiline.h"
#include "text/token_ids.h"
#include "text/unicode/unicode.h"

namespace heed {
namespace {

// A row over the vocabulary is held for each token of a step, as for each sequence that is written.
constexpr size_t kRowsOfStep = 32;

// What the texts of an item begin with, and what each has after that.
struct DividedTexts {
  std::vector<int32_t> shared;
  std::vector<std::vector<int32_t>> rests;
};

class ContinuationScoring final : public Request {
 public:
  explicit ContinuationScoring(DividedTexts texts) : shared_(std::move(texts.shared)) {
    for (std::vector<int32_t>& rest : texts.rests) {
      branches_.push_back({.tokens = std::move(rest)});
    }
  }

  std::span<const int32_t> source() const override { return {}; }
  int64_t expected_tokens(int64_t cached) const override {
    int64_t tokens = std::ssize(shared_);
    for (const Branch& branch : branches_) {
      tokens += std::ssize(branch.tokens);
    }
    return std::min(tokens, cached);
  }
  int64_t max_sequences() const override { return static_cast<int64_t>(kRowsOfStep); }
  void begin(const StepContext& context, SequenceId sequence) override {
    stepper_ = &context.stepper;
    sequence_ = sequence;
  }
  void add_drafts(std::vector<DraftTask>& /*tasks*/) override {}
  void add_new_tokens(std::vector<NewTokens>& new_tokens) override;
  int64_t take(const NextTokens& next, int64_t first_row) override;
  bool done() const override {
    return shared_was_read_ && std::ranges::all_of(branches_, [](const Branch& branch) { return branch.is_read(); });
  }
  void leave() override;
  void interrupt(Interrupted why) override { interrupted_ = why; }

  // InterruptedError where it was interrupted.
  std::vector<TextScore> scores() const {
    require_uninterrupted(interrupted_, "scores of continuations");
    std::vector<TextScore> scores;
    std::ranges::transform(branches_, std::back_inserter(scores), [](const Branch& branch) {
      return TextScore{.log_probability = branch.log_probability, .tokens = std::ssize(branch.tokens)};
    });
    return scores;
  }

 private:
  struct Branch {
    std::vector<int32_t> tokens;
    size_t read = 0, reading = 0;  // tokens; the last one is predicted, but not read
    double log_probability = 0.0;
    std::optional<SequenceId> sequence = {};

    size_t left() const { return tokens.size() < 2 ? 0 : tokens.size() - 1 - read; }
    bool is_read() const { return left() == 0; }
  };

  std::vector<int32_t> shared_;
  std::vector<Branch> branches_;
  bool shared_was_read_ = false;
  Stepper* stepper_ = nullptr;
  SequenceId sequence_{-1};
  Interrupted interrupted_ = Interrupted::no;
};

void ContinuationScoring::add_new_tokens(std::vector<NewTokens>& new_tokens) {
  if (!shared_was_read_) {
    new_tokens.push_back({sequence_, shared_, RowsWanted::last, ScoresWanted::log_probs});
    return;
  }
  size_t room = kRowsOfStep;
  for (Branch& branch : branches_) {
    branch.reading = std::min(room, branch.left());
    if (branch.reading > 0) {
      if (!branch.sequence) {
        branch.sequence = stepper_->fork(sequence_);
      }
      new_tokens.push_back({*branch.sequence, std::span(branch.tokens).subspan(branch.read, branch.reading),
                            RowsWanted::all, ScoresWanted::log_probs});
      room -= branch.reading;
    }
  }
}

int64_t ContinuationScoring::take(const NextTokens& next, int64_t first_row) {
  if (!std::exchange(shared_was_read_, true)) {
    for (Branch& branch : branches_) {
      branch.log_probability =
          branch.tokens.empty() ? 0.0 : static_cast<double>(next.log_probs(first_row, branch.tokens.front()));
    }
  } else {
    int64_t row = first_row;
    for (Branch& branch : branches_) {
      for (; branch.reading > 0; --branch.reading, ++row) {
        ++branch.read;
        branch.log_probability += static_cast<double>(next.log_probs(row, branch.tokens[branch.read]));
      }
      if (branch.is_read() && branch.sequence) {
        stepper_->remove(*std::exchange(branch.sequence, std::nullopt));
      }
    }
  }
  if (done()) {
    leave();
  }
  return 0;
}

void ContinuationScoring::leave() {
  Stepper* const stepper = std::exchange(stepper_, nullptr);
  if (stepper == nullptr) {
    return;
  }
  for (Branch& branch : branches_) {
    if (branch.sequence) {
      stepper->remove(*std::exchange(branch.sequence, std::nullopt));
    }
  }
  stepper->remove(sequence_);
}

size_t common_tokens(std::span<const int32_t> a, std::span<const int32_t> b) {
  return static_cast<size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

DividedTexts divided(const TextGenerator& generator, const Continuations& item, const GenerationOptions& options,
                     const std::string& where) {
  require_text(item.prompt, where);
  const std::vector<int32_t> prompt = ids_of(encode_text(generator.tokenizer, item.prompt));
  std::vector<std::vector<int32_t>> texts;
  size_t shared = prompt.size(), longest = shared;
  for (const std::string& text : item.texts) {
    require_text(text, where);
    texts.push_back(ids_of(encode_text(generator.tokenizer, item.prompt + text)));
    shared = std::min(shared, common_tokens(texts.back(), prompt));
    longest = std::max(longest, texts.back().size());
  }
  const bool has_mark = begins_with_mark(generator.documents, generator.tokenizer);
  const auto limit = static_cast<size_t>(generator.scheduler.inference().max_length()) - (has_mark ? 1 : 0);
  size_t cut = 0;
  if (longest > limit) {
    cut = longest - limit;
    require<TooLongError>(options.too_long == TooLong::truncate && (cut < shared || (has_mark && cut == shared)), where,
                          "{} tokens with its continuation, but the model takes at most {}{}", longest, limit,
                          options.too_long == TooLong::truncate ? ": the continuation alone is too long"
                                                                : ": shorten the prompt, or have it cut from the left");
  }
  DividedTexts found{.shared = {}, .rests = {}};
  // What the model reads before a text: the mark of a document, or for a stream that has nothing else a line break.
  if (has_mark || shared == 0) {
    found.shared = ids_of(prompt_tokens(generator, "", options, where).tokens);
  }
  found.shared.insert(found.shared.end(), prompt.begin() + static_cast<int64_t>(cut),
                      prompt.begin() + static_cast<int64_t>(shared));
  for (const std::vector<int32_t>& text : texts) {
    found.rests.emplace_back(text.begin() + static_cast<int64_t>(std::min(shared, text.size())), text.end());
  }
  return found;
}

}  // namespace

std::vector<std::vector<TextScore>> score_continuations(const TextGenerator& generator,
                                                        std::span<const Continuations> items,
                                                        const GenerationOptions& options,
                                                        const std::function<std::string(size_t)>& where) {
  std::deque<ContinuationScoring> scorings;
  std::vector<Request*> requests;
  for (size_t i = 0; i < items.size(); ++i) {
    requests.push_back(&scorings.emplace_back(divided(generator, items[i], options, where(i))));
  }
  generator.scheduler.run(requests, options.interruption, options.sharing);
  std::vector<std::vector<TextScore>> scores;
  scores.reserve(items.size());
  for (const ContinuationScoring& scoring : scorings) {
    scores.push_back(scoring.scores());
  }
  return scores;
}

}  // namespace heed
