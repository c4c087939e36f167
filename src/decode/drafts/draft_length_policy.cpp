#include "decode/drafts/draft_length_policy.h"

#include <algorithm>
#include <cmath>

namespace heed {
namespace {

constexpr int64_t kProbes = 3, kProbeTokens = 2;
constexpr size_t kPlainSteps = 4;           // before the first draft
constexpr int64_t kStepsBetweenPlain = 32;  // then one without drafts: the time of a step changes as texts grow
constexpr double kShortestPause = 64.0, kLongestPause = 1024.0, kPauseLossShare = 0.03;
constexpr int64_t kUsualCatchUp = 8;    // tokens of a text
constexpr double kWorthIt = 0.9;        // a higher chance is always worth checking
constexpr double kLeastRow = 0.1;       // of a text's share of a step, where times are too noisy to show more
constexpr double kToleratedLoss = 2.0;  // steps
constexpr int64_t kMostFailures = 5;
constexpr double kTrialSteps = 10.0;  // steps of the drafter: kProbes times kProbeTokens, and reading the end of a text
constexpr double kReadingSafetyFactor = 2.0;  // times what reading costs
constexpr double kPriorTries = 4.0, kRememberedTries = 100.0;

constexpr std::array kConfidences{0.2, 0.4, 0.6, 0.75, 0.87, 0.94, 0.975, 0.99, 0.997};

size_t class_of(double confidence) {
  return static_cast<size_t>(std::ranges::upper_bound(kConfidences, confidence) - kConfidences.begin());
}

}  // namespace

DraftLengthPolicy::DraftLengthPolicy(int64_t tokens, double share) : fixed_(tokens) {
  if (const double steps = kTrialSteps * share; steps > kToleratedLoss) {
    pause_ = static_cast<int64_t>(std::min((steps - kToleratedLoss) / kPauseLossShare, kLongestPause));
  }
}

bool DraftLengthPolicy::can_afford_reading(int64_t tokens) const {
  return fixed_ > 0 || tokens <= kCheapToRead ||
         (read_.count() > 0 && kReadingSafetyFactor * read_.value() * static_cast<double>(tokens) <= saved_);
}

double DraftLengthPolicy::row_seconds() const { return std::max(row_.value(), least_row_); }

double DraftLengthPolicy::Median::value() const {
  std::array<double, kKept> sorted = latest_;
  const size_t count = std::min(count_, kKept);
  std::sort(sorted.begin(), sorted.begin() + static_cast<int64_t>(count));
  return count == 0 ? 0.0 : sorted[(count - 1) / 2];
}

int64_t DraftLengthPolicy::next_most(int64_t texts) {
  const Median& plain = plain_[texts];
  if (plain.count() < (fixed_ > 0 ? 1 : kPlainSteps)) {
    return 0;
  }
  if (fixed_ > 0) {
    return fixed_;
  }
  if (pause_ > 0) {
    --pause_;
    return 0;
  }
  if (++since_plain_ > kStepsBetweenPlain) {
    since_plain_ = 0;
    return 0;
  }
  texts_ = texts;
  least_row_ = kLeastRow * plain.value() / static_cast<double>(texts);
  rate_ = std::max(static_cast<double>(texts) / plain.value(), recent_rate_.value());
  return probes_ > 0 ? kProbeTokens : kMaxDraftTokens;
}

bool DraftLengthPolicy::worth_another(double chance) const {
  const double seconds = row_seconds() + draft_.value() / static_cast<double>(texts_);
  return !chooses() || pays(chance * right_of_model_.value(), seconds);
}

// The limit counts where a stretch of right drafts raises the rate so much that no token would seem worth checking.
bool DraftLengthPolicy::pays(double chance, double seconds) const {
  return chance > std::min(kWorthIt, rate_ * seconds);
}

// Until tokens of this confidence were checked, it is the confidence itself.
double DraftLengthPolicy::chance(Guess guess, double confidence) const {
  const Record& record = records_[static_cast<size_t>(guess)];
  const size_t c = class_of(confidence);
  return (record.right[c] + kPriorTries * confidence) / (record.tried[c] + kPriorTries);
}

void DraftLengthPolicy::learn(Guess guess, double confidence, Checked checked) {
  Record& record = records_[static_cast<size_t>(guess)];
  const size_t c = class_of(confidence);
  if (record.tried[c] >= kRememberedTries) {
    record.tried[c] /= 2.0;
    record.right[c] /= 2.0;
  }
  const double right = checked == Checked::right ? 1.0 : 0.0;
  record.tried[c] += 1.0;
  record.right[c] += right;
  if (guess == Guess::by_model) {
    right_of_model_.add(right, 1.0);
  }
}

void DraftLengthPolicy::add(const DraftedStep& step) {
  Median& plain = plain_[step.texts];
  if (step.drafted == 0) {
    plain.add(step.seconds);
  } else {
    row_.add(std::max(0.0, step.seconds - plain.value()) / static_cast<double>(step.drafted));
  }
  const bool catches_up = step.caught_up > kUsualCatchUp * step.drafting;
  double draft = draft_.value() * static_cast<double>(step.drafter_steps);
  if (catches_up) {
    read_.add(step.draft_seconds / static_cast<double>(step.caught_up));
    draft = read_.value() * static_cast<double>(step.caught_up);
    const double spent = read_.value() * static_cast<double>(step.afforded);
    allowed_ += spent;
    saved_ = std::max(0.0, saved_ - spent);
  } else if (step.drafter_steps > 0) {
    draft_.add(step.draft_seconds / static_cast<double>(step.drafter_steps));
    draft = draft_.value() * static_cast<double>(step.drafter_steps);
  }
  const double all = plain.value() + row_.value() * static_cast<double>(step.drafted) + draft;
  const double without = plain.value() * static_cast<double>(step.written) / static_cast<double>(step.texts);
  report_.steps += step.texts;
  report_.tokens += step.written;
  report_.drafted += step.drafted;
  report_.accepted += step.accepted;
  report_.seconds += step.draft_seconds + step.seconds;
  typical_ += all;
  typical_without_ += without;
  report_.seconds_without = report_.seconds * typical_without_ / typical_;
  recent_rate_.add(static_cast<double>(step.written), all);
  if (step.drafter_steps > 0) {
    judge(all - without, plain.value());
  }
}

void DraftLengthPolicy::judge(double loss, double plain) {
  probes_ = std::max<int64_t>(0, probes_ - 1);
  loss_ = std::max(0.0, loss_ + loss);
  saved_ += std::max(0.0, -loss);
  if (fixed_ > 0 || loss_ <= kToleratedLoss * plain + allowed_) {
    return;
  }
  failures_ = saved_ > loss_ ? 0 : std::min(failures_ + 1, kMostFailures);
  const double longer = std::exp2(static_cast<double>(std::max<int64_t>(0, failures_ - 1)));
  pause_ = static_cast<int64_t>(std::clamp(longer * loss_ / (kPauseLossShare * plain), kShortestPause, kLongestPause));
  probes_ = kProbes;
  loss_ = allowed_ = saved_ = 0.0;
}

}  // namespace heed
