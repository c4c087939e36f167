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
  Text(const GenerationTask& of_task, SequenceId its_sequence)
      : task(of_task.number), sequence(its_sequence), tokens(of_task.prompt.begin(), of_task.prompt.end()) {
    counts.add_prompt(of_task.prompt);
  }

  size_t task;
  int64_t sample = 0, samples_to_fork = 0;
  SequenceId sequence;
  std::vector<int32_t> tokens;  // the prompt's and the generated ones
  size_t read = 0;              // how many of `tokens` the model has read
  int64_t written = 0;
  TokenCounts counts;
  RandomKey prompt_key, key;
};

class Generation {
 public:
  Generation(Stepper& stepper, const GenerationRules& rules, GenerationClient& client)
      : stepper_(stepper), rules_(rules), client_(client), sampler_(rules.sampling, rules.suppressed) {}

  ~Generation() {
    for (const Text& text : texts_) {
      stepper_.remove(text.sequence);
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
      Text& text = texts_.emplace_back(*task, stepper_.begin(kNoSource).front());
      text.samples_to_fork = task->samples - 1;
      text.prompt_key = key_of(*task, rules_.sampling.seed);
      text.key = text.prompt_key.derive(uint64_t{0});
    }
  }

  void step() {
    fresh_.clear();
    for (Text& text : texts_) {
      make_room(text);
      fresh_.push_back({text.sequence, std::span(text.tokens).subspan(text.read)});
    }
    const NextTokens next = stepper_.next(fresh_);
    int64_t row = 0;
    for (auto text = texts_.begin(); text != texts_.end(); ++row) {
      text->read = text->tokens.size();
      // The prompt is read once for all its samples.
      auto after = std::next(text);
      for (; text->samples_to_fork > 0; --text->samples_to_fork) {
        write(fork(*text, after), next, row);
      }
      write(text, next, row);
      text = after;
    }
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
    child->sample = text.samples_to_fork;
    child->samples_to_fork = 0;
    child->sequence = stepper_.fork(text.sequence);
    child->key = text.prompt_key.derive(static_cast<uint64_t>(child->sample));
    return child;
  }

  void write(std::list<Text>::iterator text, const NextTokens& next, int64_t row) {
    const std::span logits(next.logits.row(row), static_cast<size_t>(next.logits.columns));
    const int32_t token = sampler_.sample(logits, text->counts, {text->key, static_cast<uint64_t>(text->written)});
    const auto log_probability = static_cast<double>(next.log_probs(row, token));
    text->tokens.push_back(token);
    text->counts.add_written(token);
    ++text->written;
    if (client_.take_token({text->task, text->sample, token, log_probability}) == GenerationClient::Verdict::ended) {
      stepper_.remove(text->sequence);
      texts_.erase(text);
    }
  }

  Stepper& stepper_;
  const GenerationRules& rules_;
  GenerationClient& client_;
  Sampler sampler_;
  std::list<Text> texts_;
  std::vector<Fresh> fresh_;
  bool more_tasks_ = true;
};

}  // namespace

void generate(Stepper& stepper, const GenerationRules& rules, GenerationClient& client) {
  validate(rules.sampling);
  Generation(stepper, rules, client).run();
}

}  // namespace heed
