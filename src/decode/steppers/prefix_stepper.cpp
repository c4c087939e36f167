#include "decode/steppers/prefix_stepper.h"

#include <algorithm>
#include <utility>

namespace heed {
namespace {

// Fewer are read sooner than looked for. It is more than a text reads in a step while it is written.
constexpr size_t kFewTokens = 40;

size_t common(std::span<const int32_t> a, std::span<const int32_t> b) {
  return static_cast<size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

}  // namespace

void PrefixLog::add(const PrefixReport& more) {
  const std::lock_guard lock(mutex_);
  report_.prompts += more.prompts;
  report_.hits += more.hits;
  report_.tokens += more.tokens;
  report_.saved += more.saved;
}

PrefixReport PrefixLog::report() const {
  const std::lock_guard lock(mutex_);
  return report_;
}

bool has_prefixes(const Inference& inference) {
  return std::ranges::all_of(inference.members(), [](const Inference& member) {
    const ModelConfig& config = member.model.config();
    return config.architecture == Architecture::causal_lm && config.cached_window() == 0 && !config.is_recurrent() &&
           config.linear_layers_of_decoder().empty();
  });
}

PrefixStepper::PrefixStepper(std::unique_ptr<Stepper> model, int64_t most_bytes, PrefixLog* log)
    : model_(std::move(model)), most_bytes_(most_bytes), log_(log) {}

std::vector<SequenceId> PrefixStepper::begin(std::span<const std::vector<int32_t>> sources) {
  std::vector<SequenceId> sequences;
  for (const SequenceId id : model_->begin(sources)) {
    live_.emplace(next_id_, Sequence{.id = id, .reads_prompt = true});
    sequences.emplace_back(next_id_++);
  }
  return sequences;
}

SequenceId PrefixStepper::fork(SequenceId sequence) {
  const Sequence& parent = live_.at(sequence.value);
  live_.emplace(next_id_, Sequence{.id = model_->fork(parent.id), .tokens = parent.tokens});
  return SequenceId(next_id_++);
}

void PrefixStepper::roll_back(SequenceId sequence, int64_t length) {
  Sequence& found = live_.at(sequence.value);
  model_->roll_back(found.id, length);
  found.tokens.resize(static_cast<size_t>(length));
}

void PrefixStepper::remove(SequenceId sequence) {
  const auto found = live_.find(sequence.value);
  Sequence removed = std::move(found->second);
  live_.erase(found);
  keep(std::move(removed));
}

// The longest beginning of the sequence and these tokens that another one has read.
PrefixStepper::Match PrefixStepper::match(const Sequence& sequence, std::span<const int32_t> tokens) const {
  Match best{.tokens = sequence.tokens.size()};
  const auto look_at = [&](const Sequence& other) {
    const size_t read = sequence.tokens.size();
    if (other.tokens.size() <= best.tokens || &other == &sequence || common(other.tokens, sequence.tokens) < read) {
      return;
    }
    const size_t same = read + common(std::span(other.tokens).subspan(read), tokens);
    if (same > best.tokens) {
      best = {other.id, same};
    }
  };
  for (const auto& [id, other] : live_) {
    look_at(other);
  }
  for (const Sequence& other : kept_) {
    look_at(other);
  }
  return best.tokens >= sequence.tokens.size() + kFewTokens ? best : Match{.tokens = sequence.tokens.size()};
}

int64_t PrefixStepper::known_tokens(SequenceId sequence, std::span<const int32_t> tokens) const {
  const Sequence& found = live_.at(sequence.value);
  if (tokens.size() <= kFewTokens) {
    return 0;
  }
  return static_cast<int64_t>(match(found, tokens.first(tokens.size() - 1)).tokens - found.tokens.size());
}

void PrefixStepper::use_match(Sequence& sequence, const Match& match) {
  const SequenceId copy = model_->fork(match.id);
  model_->roll_back(copy, static_cast<int64_t>(match.tokens));
  model_->remove(sequence.id);
  sequence.id = copy;
  const auto kept = std::ranges::find(kept_, match.id, &Sequence::id);
  if (kept != kept_.end()) {
    kept_.splice(kept_.end(), kept_, kept);
  }
}

// Returns the number of tokens that need not be read.
size_t PrefixStepper::begin_as_others(std::span<const NewTokens> new_tokens) {
  PrefixReport report;
  for (const NewTokens& one : new_tokens) {
    Sequence& sequence = live_.at(one.sequence.value);
    if (!sequence.reads_prompt) {
      continue;
    }
    report.prompts += sequence.tokens.empty() ? 1 : 0;
    report.tokens += std::ssize(one.tokens);
    if (one.tokens.size() > kFewTokens && one.wanted != RowsWanted::all) {
      const size_t rows = one.wanted == RowsWanted::last ? 1 : 0, before = sequence.tokens.size();
      const Match found = match(sequence, one.tokens.first(one.tokens.size() - rows));
      if (found.tokens > before) {
        use_match(sequence, found);
        const auto known = one.tokens.first(found.tokens - before);
        sequence.tokens.insert(sequence.tokens.end(), known.begin(), known.end());
        report.hits += sequence.copied == 0 ? 1 : 0;
        report.saved += std::ssize(known);
        sequence.copied += std::ssize(known);
      }
    }
    sequence.reads_prompt = one.wanted == RowsWanted::none;
  }
  if (log_ != nullptr && report.tokens > 0) {
    log_->add(report);
  }
  return static_cast<size_t>(report.saved);
}

NextTokens PrefixStepper::next(std::span<const NewTokens> new_tokens) {
  lengths_.clear();
  for (const NewTokens& one : new_tokens) {
    lengths_.push_back(live_.at(one.sequence.value).tokens.size());
  }
  begin_as_others(new_tokens);
  asked_.clear();
  for (size_t i = 0; i < new_tokens.size(); ++i) {
    const Sequence& sequence = live_.at(new_tokens[i].sequence.value);
    NewTokens left = new_tokens[i];
    left.sequence = sequence.id;
    left.tokens = left.tokens.subspan(sequence.tokens.size() - lengths_[i]);
    if (!left.tokens.empty()) {
      asked_.push_back(left);
    }
  }
  const NextTokens found = next_of_model(new_tokens);
  for (size_t i = 0; i < new_tokens.size(); ++i) {
    Sequence& sequence = live_.at(new_tokens[i].sequence.value);
    const auto read = new_tokens[i].tokens.subspan(sequence.tokens.size() - lengths_[i]);
    sequence.tokens.insert(sequence.tokens.end(), read.begin(), read.end());
  }
  return found;
}

// What stays for later gives way to sequences in use.
NextTokens PrefixStepper::next_of_model(std::span<const NewTokens> new_tokens) {
  while (!asked_.empty() || new_tokens.empty()) {
    try {
      return model_->next(asked_);
    } catch (const BudgetError&) {
      if (!forget_least_recent()) {
        for (size_t i = 0; i < new_tokens.size(); ++i) {
          roll_back(new_tokens[i].sequence, static_cast<int64_t>(lengths_[i]));
        }
        throw;
      }
    }
  }
  return {};
}

// A sequence stays unless all but a few of its tokens are those of another one; others that are no more than it go.
void PrefixStepper::keep(Sequence sequence) {
  const auto is_covered = [](const Sequence& one, const Sequence& by) {
    return one.tokens.size() < common(one.tokens, by.tokens) + kFewTokens;
  };
  bool is_worth = true;
  for (const auto& [id, other] : live_) {
    is_worth = is_worth && !is_covered(sequence, other);
  }
  for (auto other = kept_.begin(); is_worth && other != kept_.end();) {
    const auto after = std::next(other);
    if (is_covered(sequence, *other)) {
      is_worth = false;
      kept_.splice(kept_.end(), kept_, other);
    } else if (is_covered(*other, sequence)) {
      model_->remove(other->id);
      kept_.erase(other);
    }
    other = after;
  }
  if (!is_worth || sequence.tokens.size() < kFewTokens) {
    model_->remove(sequence.id);
    return;
  }
  kept_.push_back(std::move(sequence));
  const auto bytes = [&] {
    kept_ids_.clear();
    std::ranges::transform(kept_, std::back_inserter(kept_ids_), &Sequence::id);
    return model_->bytes_only_of(kept_ids_);
  };
  while (bytes() > most_bytes_ && forget_least_recent()) {
  }
}

bool PrefixStepper::forget_least_recent() {
  if (kept_.empty()) {
    return false;
  }
  model_->remove(kept_.front().id);
  kept_.pop_front();
  return true;
}

void PrefixStepper::forget() {
  while (forget_least_recent()) {
  }
}

}  // namespace heed
