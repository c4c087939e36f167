#include "decode/scheduling/drafted_sequence.h"

namespace heed {

DraftedSequence::DraftedSequence(const StepContext& context, SequenceId sequence, std::span<const int32_t> tokens)
    : context_(context), sequence_(sequence), tokens_(tokens.begin(), tokens.end()) {
  text_ = context.speculation == nullptr ? 0 : context.speculation->new_text();
}

void DraftedSequence::begin_step() {
  task_.reset();
  Stepper& stepper = context_.stepper;
  const auto unread = static_cast<int64_t>(tokens_.size() - read_);
  if (stepper.length(sequence_) + unread <= stepper.max_length()) {
    return;
  }
  // Rolling back would not do: with local attention the first tokens may be freed already.
  stepper.remove(sequence_);
  static const std::vector<std::vector<int32_t>> kNoSource(1);
  sequence_ = stepper.begin(kNoSource).front();
  read_ = tokens_.size() - static_cast<size_t>(std::max<int64_t>(1, stepper.max_length() / 2));
}

void DraftedSequence::request_draft(const DraftRequest& request, std::vector<DraftTask>& tasks) {
  if (context_.speculation == nullptr || tokens_.size() - read_ != 1) {
    return;
  }
  const int64_t room = context_.stepper.max_length() - context_.stepper.length(sequence_) - 1;
  task_ = tasks.size();
  tasks.push_back({.text = text_,
                   .source = request.source,
                   .tokens = tokens_,
                   .counts = request.counts,
                   .sampler = request.sampler,
                   .draw = request.draw,
                   .most = std::min(room, request.most),
                   .walk = request.walk});
}

NewTokens DraftedSequence::new_tokens(RowsWanted wanted) {
  const std::span<const int32_t> drafted = draft();
  tokens_.insert(tokens_.end(), drafted.begin(), drafted.end());
  return {sequence_, std::span(tokens_).subspan(read_), drafted.empty() ? wanted : RowsWanted::all};
}

void DraftedSequence::end_step() {
  tokens_.resize(tokens_.size() - draft().size());
  read_ = tokens_.size();
}

DraftedSequence DraftedSequence::fork() const {
  DraftedSequence other = *this;
  other.sequence_ = context_.stepper.fork(sequence_);
  other.text_ = context_.speculation == nullptr ? 0 : context_.speculation->new_text();
  return other;
}

void DraftedSequence::leave() {
  context_.stepper.remove(sequence_);
  if (context_.speculation != nullptr) {
    context_.speculation->forget(text_);
  }
}

std::span<const int32_t> DraftedSequence::draft() const {
  return task_ ? context_.speculation->draft(*task_) : std::span<const int32_t>{};
}

void DraftedSequence::drop_last(int64_t tokens) {
  if (tokens > 0) {
    context_.stepper.roll_back(sequence_, context_.stepper.length(sequence_) - tokens);
  }
}

}  // namespace heed
