#include "decode/drafts/speculation.h"

#include <algorithm>

#include "base/system/clock.h"

namespace heed {
namespace {

DraftReport sum(const DraftReport& a, const DraftReport& b, int sign) {
  return {.steps = a.steps + sign * b.steps,
          .tokens = a.tokens + sign * b.tokens,
          .drafted = a.drafted + sign * b.drafted,
          .accepted = a.accepted + sign * b.accepted,
          .seconds = a.seconds + sign * b.seconds,
          .seconds_without = a.seconds_without + sign * b.seconds_without};
}

}  // namespace

void DraftLog::add(const DraftReport& more) {
  const std::lock_guard lock(mutex_);
  report_ = sum(report_, more, 1);
}

DraftReport DraftLog::report() const {
  const std::lock_guard lock(mutex_);
  return report_;
}

Speculation::~Speculation() { publish(); }

void Speculation::publish() {
  if (log_ != nullptr) {
    log_->add(sum(policy_.report(), published_, -1));
    published_ = policy_.report();
  }
}

void Speculation::begin_step(std::span<DraftTask> tasks, int64_t others) {
  began_ = seconds_now();
  const auto texts = static_cast<int64_t>(tasks.size());
  drafts_.resize(std::max(drafts_.size(), tasks.size()));
  std::ranges::for_each(drafts_, &Draft::clear);
  step_ = {.texts = texts};
  usual_ = others == 0;
  const int64_t most = tasks.empty() ? 0 : policy_.next_most(texts);
  if (most > 0) {
    for (DraftTask& task : tasks) {
      task.most = std::min(task.most, most);
    }
    const Drafter::Work work = drafter_->draft(tasks, policy_, drafts_);
    step_.drafter_steps = work.steps;
    step_.drafting = work.texts;
    step_.caught_up = work.caught_up;
    step_.afforded = work.afforded;
  }
  const double now = seconds_now();
  step_.draft_seconds = now - began_;
  began_ = now;
  for (const Draft& draft : drafts_) {
    step_.drafted += static_cast<int64_t>(draft.tokens.size());
  }
}

void Speculation::checked(size_t task, int64_t right, int64_t compared) {
  step_.accepted += right;
  for (int64_t k = 0; k < compared; ++k) {
    policy_.learn(drafts_[task].guess, drafts_[task].confidence[static_cast<size_t>(k)],
                  k < right ? DraftLengthPolicy::Checked::right : DraftLengthPolicy::Checked::wrong);
  }
}

void Speculation::end_step(int64_t written) {
  step_.written = written;
  step_.seconds = seconds_now() - began_;
  if (usual_) {
    policy_.add(step_);
  }
}

std::unique_ptr<Speculation> make_speculation(const Drafting* drafting, const Inference& target,
                                              SourceVocabulary source) {
  if (drafting == nullptr || drafting->options.by == Drafts::none) {
    return nullptr;
  }
  const DraftOptions& options = drafting->options;
  std::unique_ptr<Drafter> drafter = make_prompt_drafter(source);
  if (options.by != Drafts::prompt) {
    const DraftModel model{options.by == Drafts::model ? *drafting->model : target.model, target.storage,
                           options.by == Drafts::layers ? options.layers : 0};
    drafter = make_combined_drafter(std::move(drafter), make_model_drafter(model, target.backend));
  }
  return std::make_unique<Speculation>(std::move(drafter), options.tokens, &drafting->log, drafting->share);
}

void validate(const DraftOptions& options, int64_t layers) {
  require<ConfigError>(options.tokens >= 0 && options.tokens <= kMaxDraftTokens, "draft",
                       "draft tokens is {}, expected 1 to {}, or 0 for as many as pay", options.tokens,
                       kMaxDraftTokens);
  require<ConfigError>(options.by != Drafts::layers || (options.layers >= 1 && options.layers < layers), "draft",
                       "draft layers is {}, expected 1 to {}: fewer than the {} that the model has", options.layers,
                       layers - 1, layers);
}

}  // namespace heed
