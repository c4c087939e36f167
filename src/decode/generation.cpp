#include "decode/generation.h"

#include <algorithm>
#include <list>
#include <memory>
#include <utility>

namespace heed {
namespace {

// The key of all draws that continue a prompt.
RandomKey key_of(const GenerationTask& task, uint64_t seed) {
  RandomKey key = RandomKey{}.derive("sampling").derive(seed);
  for (const int32_t token : task.prompt) {
    key = key.derive(static_cast<uint64_t>(token));
  }
  return key;
}

// A text that is being generated.
struct Text {
  Text(const GenerationTask& of_task, SequenceId its_sequence, int64_t its_number)
      : task(of_task.number),
        number(its_number),
        sequence(its_sequence),
        tokens(of_task.prompt.begin(), of_task.prompt.end()) {
    counts.add_prompt(of_task.prompt);
  }

  size_t unread() const { return tokens.size() - read; }

  size_t task;
  int64_t number;  // among all texts
  int64_t sample = 0, samples_to_fork = 0;
  SequenceId sequence;
  std::vector<int32_t> tokens;  // the prompt's and the generated ones
  size_t read = 0;              // how many of `tokens` the model has read
  int64_t written = 0, drafted = 0, accepted = 0;
  std::optional<size_t> draft;  // which of this step's drafts is the text's
  TokenCounts counts;
  RandomKey prompt_key, key;
};

class Generation {
 public:
  Generation(Stepper& stepper, const GenerationRules& rules, GenerationClient& client, Speculation* speculation)
      : stepper_(stepper),
        rules_(rules),
        client_(client),
        speculation_(speculation),
        sampler_(rules.sampling, rules.suppressed) {}

  ~Generation() {
    for (const Text& text : texts_) {
      leave(text);
    }
  }
  Generation(const Generation&) = delete;
  Generation& operator=(const Generation&) = delete;

  void run() {
    for (join(); !texts_.empty(); join()) {
      step();
    }
  }

 private:
  void join() {
    while (more_tasks_ && static_cast<int64_t>(texts_.size()) < rules_.max_texts) {
      const std::optional<GenerationTask> task = client_.take_task();
      more_tasks_ = task.has_value();
      if (!task) {
        return;
      }
      static const std::vector<std::vector<int32_t>> kNoSource(1);
      Text& text = texts_.emplace_back(*task, stepper_.begin(kNoSource).front(), next_number_++);
      text.samples_to_fork = task->samples - 1;
      text.prompt_key = key_of(*task, rules_.sampling.seed);
      text.key = text.prompt_key.derive(uint64_t{0});
    }
  }

  void step() {
    for (Text& text : texts_) {
      make_room(text);
    }
    begin_drafts();
    fresh_.clear();
    for (Text& text : texts_) {
      const std::span<const int32_t> draft = draft_of(text);
      text.tokens.insert(text.tokens.end(), draft.begin(), draft.end());
      fresh_.push_back(
          {text.sequence, std::span(text.tokens).subspan(text.read), draft.empty() ? Wanted::last : Wanted::all});
    }
    const NextTokens next = stepper_.next(fresh_);
    int64_t row = 0, written = 0;
    for (auto text = texts_.begin(); text != texts_.end();) {
      const auto drafted = static_cast<int64_t>(draft_of(*text).size());
      text->tokens.resize(text->tokens.size() - static_cast<size_t>(drafted));
      text->read = text->tokens.size();
      // The prompt is read once for all its samples.
      const auto after = std::next(text);
      for (; text->samples_to_fork > 0; --text->samples_to_fork) {
        write(fork(*text, after), next, row);
      }
      written += write(text, next, row);
      row += drafted + 1;
      text = after;
    }
    if (speculation_ != nullptr) {
      speculation_->end_step(written);
    }
  }

  // For the texts that have one token to read.
  void begin_drafts() {
    if (speculation_ == nullptr) {
      return;
    }
    tasks_.clear();
    for (Text& text : texts_) {
      text.draft.reset();
      if (text.unread() == 1 && text.samples_to_fork == 0) {
        text.draft = tasks_.size();
        tasks_.push_back({.text = text.number,
                          .source = {},
                          .tokens = text.tokens,
                          .counts = text.counts,
                          .draw = {text.key, static_cast<uint64_t>(text.written)},
                          .most = stepper_.max_length() - stepper_.length(text.sequence) - 1});
      }
    }
    drafts_ = speculation_->begin_step(tasks_, static_cast<int64_t>(texts_.size() - tasks_.size()));
  }

  std::span<const int32_t> draft_of(const Text& text) const {
    return text.draft ? std::span<const int32_t>(drafts_[*text.draft].tokens) : std::span<const int32_t>{};
  }

  // The model's maximum length is reached: it reads the last half again, as if nothing came before.
  void make_room(Text& text) {
    const auto fresh = static_cast<int64_t>(text.tokens.size() - text.read);
    if (stepper_.length(text.sequence) + fresh <= stepper_.max_length()) {
      return;
    }
    const int64_t kept = std::max<int64_t>(1, stepper_.max_length() / 2);
    // Not by rolling back: with local attention the beginning may be freed already.
    stepper_.remove(text.sequence);
    static const std::vector<std::vector<int32_t>> kNoSource(1);
    text.sequence = stepper_.begin(kNoSource).front();
    text.read = text.tokens.size() - static_cast<size_t>(kept);
  }

  std::list<Text>::iterator fork(const Text& text, std::list<Text>::iterator before) {
    const auto child = texts_.insert(before, text);
    child->number = next_number_++;
    child->sample = text.samples_to_fork;
    child->samples_to_fork = 0;
    child->sequence = stepper_.fork(text.sequence);
    child->key = text.prompt_key.derive(static_cast<uint64_t>(child->sample));
    return child;
  }

  // The text has read its tokens and its draft; `row` is that of the last token before the draft. Returns how many
  // tokens were written: one, and another for each token of the draft that was right.
  int64_t write(std::list<Text>::iterator text, const NextTokens& next, int64_t row) {
    const std::span<const int32_t> draft = draft_of(*text);
    const std::optional<size_t> number = text->draft;
    text->drafted += static_cast<int64_t>(draft.size());
    const auto drafted = static_cast<int64_t>(draft.size());
    int64_t right = 0, written = 0;
    bool is_right = true, goes_on = true;
    while (is_right && goes_on) {
      const int32_t token = draw(*text, next, row + written);
      is_right = written < drafted && token == draft[static_cast<size_t>(written)];
      right += is_right ? 1 : 0;
      text->accepted += is_right ? 1 : 0;
      goes_on = write(*text, token, static_cast<double>(next.log_probs(row + written, token)));
      ++written;
    }
    if (drafted > 0) {
      speculation_->checked(*number, right, std::min(written, drafted));
    }
    if (goes_on) {
      drop(text->sequence, drafted - right);
      text->read += static_cast<size_t>(right);
    } else {
      leave(*text);
      texts_.erase(text);
    }
    return written;
  }

  // The last tokens that a sequence has read.
  void drop(SequenceId sequence, int64_t tokens) {
    if (tokens > 0) {
      stepper_.roll_back(sequence, stepper_.length(sequence) - tokens);
    }
  }

  int32_t draw(const Text& text, const NextTokens& next, int64_t row) {
    const std::span logits(next.logits.row(row), static_cast<size_t>(next.logits.columns));
    return sampler_.sample(logits, text.counts, {text.key, static_cast<uint64_t>(text.written)}, sampling_memory_);
  }

  // Whether the text goes on.
  bool write(Text& text, int32_t token, double log_probability) {
    text.tokens.push_back(token);
    text.counts.add_written(token);
    ++text.written;
    return client_.take_token({text.task, text.sample, token, log_probability, text.drafted, text.accepted}) ==
           GenerationClient::Verdict::go_on;
  }

  void leave(const Text& text) {
    stepper_.remove(text.sequence);
    if (speculation_ != nullptr) {
      speculation_->forget(text.number);
    }
  }

  Stepper& stepper_;
  const GenerationRules& rules_;
  GenerationClient& client_;
  Speculation* speculation_;
  Sampler sampler_;
  SamplingMemory sampling_memory_;
  std::list<Text> texts_;
  int64_t next_number_ = 0;
  std::vector<DraftTask> tasks_;
  std::span<const Draft> drafts_;
  std::vector<Fresh> fresh_;
  bool more_tasks_ = true;
};

}  // namespace

void generate(Stepper& stepper, const GenerationRules& rules, GenerationClient& client, Speculation* speculation) {
  validate(rules.sampling);
  Generation(stepper, rules, client, speculation).run();
}

}  // namespace heed
