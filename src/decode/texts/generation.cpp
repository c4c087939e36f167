#include "decode/texts/generation.h"

#include <limits>

namespace heed {
namespace {

RandomKey key_of(const GenerationTask& task) {
  RandomKey key = RandomKey{}.derive("sampling").derive(task.seed);
  for (const int32_t token : task.prompt) {
    key = key.derive(static_cast<uint64_t>(token));
  }
  return key;
}

}  // namespace

int64_t GenerationRequest::sequences() const {
  int64_t count = memory_ == nullptr ? task_.samples : 0;
  for (const Text& text : texts_) {
    count += 1 + text.samples_to_fork;
  }
  return count;
}

void GenerationRequest::begin(const StepContext& context, SequenceId sequence) {
  key_ = key_of(task_);
  memory_ = &context.memory;
  TokenCounts counts;
  counts.add_prompt(task_.prompt);
  texts_.push_back({.sequence = DraftedSequence(context, sequence, task_.prompt),
                    .sample = 0,
                    .samples_to_fork = task_.samples - 1,
                    .counts = std::move(counts),
                    .key = key_.derive(uint64_t{0})});
}

void GenerationRequest::add_drafts(std::vector<DraftTask>& tasks) {
  for (Text& text : texts_) {
    text.sequence.begin_step();
    if (text.samples_to_fork == 0) {
      text.sequence.request_draft({.source = {},
                                   .counts = text.counts,
                                   .sampler = task_.sampler,
                                   .draw = {text.key, static_cast<uint64_t>(text.written)},
                                   .most = std::numeric_limits<int64_t>::max(),
                                   .walk = text.walk},
                                  tasks);
    }
  }
}

void GenerationRequest::add_new_tokens(std::vector<NewTokens>& new_tokens) {
  for (Text& text : texts_) {
    new_tokens.push_back(text.sequence.new_tokens());
  }
}

int64_t GenerationRequest::take(const NextTokens& next, int64_t first_row) {
  int64_t row = first_row, written = 0;
  if (!copied_) {
    copied_ = texts_.front().sequence.copied();
  }
  for (auto text = texts_.begin(); text != texts_.end();) {
    const auto after = std::next(text);
    const int64_t rows = text->sequence.rows();
    text->sequence.end_step();
    // The prompt is read once for all its samples.
    for (; text->samples_to_fork > 0; --text->samples_to_fork) {
      const int64_t sample = text->samples_to_fork;
      write(texts_.insert(after, {.sequence = text->sequence.fork(),
                                  .sample = sample,
                                  .samples_to_fork = 0,
                                  .counts = text->counts,
                                  .key = key_.derive(static_cast<uint64_t>(sample))}),
            next, row);
    }
    written += write(text, next, row);
    row += rows;
    text = after;
  }
  return written;
}

int64_t GenerationRequest::write(std::list<Text>::iterator text, const NextTokens& next, int64_t row) {
  bool goes_on = true;
  const auto choose = [&](int64_t of_row) {
    const std::span logits(next.logits.row(of_row), static_cast<size_t>(next.logits.columns));
    return task_.sampler.sample(logits, text->counts, {text->key, static_cast<uint64_t>(text->written)}, *memory_,
                                {text->sequence.tokens(), &text->walk});
  };
  const auto add = [&](int64_t of_row, int32_t token) {
    text->counts.add_written(token);
    ++text->written;
    const std::vector<RankedToken> likeliest =
        likeliest_tokens(next.log_probs.row(of_row), next.log_probs.columns, RowTokens(), task_.likeliest);
    goes_on = writer_.take_token({.sample = text->sample,
                                  .token = token,
                                  .log_probability = static_cast<double>(next.log_probs(of_row, token)),
                                  .drafted = text->sequence.drafted(),
                                  .accepted = text->sequence.accepted(),
                                  .copied = *copied_,
                                  .likeliest = likeliest}) == TextWriter::Verdict::go_on;
    return goes_on;
  };
  const int64_t written = text->sequence.write(row, choose, add);
  if (!goes_on) {
    texts_.erase(text);
  }
  return written;
}

void GenerationRequest::leave() {
  for (Text& text : texts_) {
    text.sequence.leave();
  }
  texts_.clear();
}

}  // namespace heed
