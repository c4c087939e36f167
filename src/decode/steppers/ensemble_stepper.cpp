#include "decode/steppers/ensemble_stepper.h"

#include <algorithm>
#include <utility>

namespace heed {
namespace {

View view_of(const HostView<float>& values) {
  return {values.data, DType::f32, values.rows, values.columns, values.stride};
}

HostView<float> rows_in(std::vector<float>& memory, int64_t rows, int64_t columns) {
  memory.resize(std::max(memory.size(), static_cast<size_t>(rows * columns)));
  return {memory.data(), rows, columns, columns};
}

}  // namespace

EnsembleStepper::EnsembleStepper(std::vector<std::unique_ptr<Stepper>> members, Backend& backend)
    : members_(std::move(members)), backend_(backend) {
  ensure(!members_.empty(), "ensemble", "has no members");
  for (const auto& member : members_) {
    require(member->vocabulary() == vocabulary(), "ensemble", "members with {} and {} tokens in their vocabularies",
            vocabulary(), member->vocabulary());
  }
}

int64_t EnsembleStepper::max_length() const {
  int64_t least = members_.front()->max_length();
  for (const auto& member : members_) {
    least = std::min(least, member->max_length());
  }
  return least;
}

const EnsembleStepper::MemberIds& EnsembleStepper::ids_of(SequenceId sequence) const {
  const auto found = sequences_.find(sequence.value);
  require(found != sequences_.end(), "ensemble", "there is no sequence {}", sequence.value);
  return found->second;
}

SequenceId EnsembleStepper::add(MemberIds ids) {
  sequences_.emplace(next_id_, std::move(ids));
  return SequenceId{next_id_++};
}

std::vector<SequenceId> EnsembleStepper::begin(std::span<const std::vector<int32_t>> sources) {
  std::vector<MemberIds> begun(sources.size());
  for (const auto& member : members_) {
    try {
      const std::vector<SequenceId> ids = member->begin(sources);
      for (size_t i = 0; i < sources.size(); ++i) {
        begun[i].push_back(ids[i]);
      }
    } catch (...) {
      take_back(begun);
      throw;
    }
  }
  std::vector<SequenceId> sequences;
  sequences.reserve(begun.size());
  for (MemberIds& ids : begun) {
    sequences.push_back(add(std::move(ids)));
  }
  return sequences;
}

void EnsembleStepper::take_back(std::span<const MemberIds> begun) {
  for (const MemberIds& ids : begun) {
    for (size_t k = 0; k < ids.size(); ++k) {
      members_[k]->remove(ids[k]);
    }
  }
}

void EnsembleStepper::restrict_to(std::span<const Candidates> candidates) {
  for (size_t k = 0; k < members_.size(); ++k) {
    std::vector<Candidates> of_member(candidates.begin(), candidates.end());
    for (Candidates& one : of_member) {
      one.sequence = ids_of(one.sequence)[k];
    }
    members_[k]->restrict_to(of_member);
  }
}

SequenceId EnsembleStepper::fork(SequenceId sequence) {
  MemberIds forks;
  const MemberIds& ids = ids_of(sequence);
  for (size_t k = 0; k < members_.size(); ++k) {
    forks.push_back(members_[k]->fork(ids[k]));
  }
  return add(std::move(forks));
}

void EnsembleStepper::roll_back(SequenceId sequence, int64_t length) {
  const MemberIds& ids = ids_of(sequence);
  for (size_t k = 0; k < members_.size(); ++k) {
    members_[k]->roll_back(ids[k], length);
  }
}

void EnsembleStepper::remove(SequenceId sequence) {
  take_back({&ids_of(sequence), 1});
  sequences_.erase(sequence.value);
}

CacheUse EnsembleStepper::cache_use() const {
  CacheUse sum;
  for (const std::unique_ptr<Stepper>& member : members_) {
    const CacheUse use = member->cache_use();
    sum.used_pages += use.used_pages;
    sum.free_pages += use.free_pages;
  }
  return sum;
}

int64_t EnsembleStepper::bytes_only_of(std::span<const SequenceId> sequences) const {
  int64_t sum = 0;
  for (size_t k = 0; k < members_.size(); ++k) {
    std::vector<SequenceId> of_member;
    std::ranges::transform(sequences, std::back_inserter(of_member), [&](SequenceId id) { return ids_of(id)[k]; });
    sum += members_[k]->bytes_only_of(of_member);
  }
  return sum;
}

int64_t EnsembleStepper::length(SequenceId sequence) const {
  return members_.front()->length(ids_of(sequence).front());
}

std::vector<NewTokens> EnsembleStepper::new_tokens_of_member(std::span<const NewTokens> new_tokens,
                                                             size_t member) const {
  std::vector<NewTokens> of_member(new_tokens.begin(), new_tokens.end());
  for (NewTokens& one : of_member) {
    one.sequence = ids_of(one.sequence)[member];
  }
  return of_member;
}

NextTokens EnsembleStepper::next(std::span<const NewTokens> new_tokens) {
  std::vector<NextTokens> found;
  for (size_t k = 0; k < members_.size(); ++k) {
    try {
      found.push_back(members_[k]->next(new_tokens_of_member(new_tokens, k)));
    } catch (const BudgetError&) {
      undo(new_tokens, k);
      throw;
    }
  }
  return mean_of(found);
}

void EnsembleStepper::undo(std::span<const NewTokens> new_tokens, size_t full) {
  for (const NewTokens& one : new_tokens) {
    const MemberIds& ids = ids_of(one.sequence);
    for (size_t k = 0; k < full; ++k) {
      members_[k]->roll_back(ids[k], members_[full]->length(ids[full]));
    }
  }
}

NextTokens EnsembleStepper::mean_of(std::span<const NextTokens> found) {
  const HostView<float>& first = found.front().log_probs;
  if (first.rows == 0) {
    return {};
  }
  std::vector<ConstView> log_probs;
  for (const NextTokens& of_member : found) {
    log_probs.push_back(view_of(of_member.log_probs));
  }
  const HostView<float> mean = rows_in(log_probs_, first.rows, first.columns);
  backend_.average_probabilities({.log_probs = log_probs, .mean = view_of(mean)});
  return {found.front().logits.rows > 0 ? logits_of(found, mean) : HostView<float>{}, mean};
}

HostView<float> EnsembleStepper::logits_of(std::span<const NextTokens> found, const HostView<float>& log_probs) {
  const HostView<float> logits = rows_in(logits_, log_probs.rows, log_probs.columns);
  for (int64_t r = 0; r < logits.rows; ++r) {
    float shift = 0.0F;  // the same in all columns of a row
    for (const NextTokens& of_member : found) {
      shift += (of_member.logits(r, 0) - of_member.log_probs(r, 0)) / static_cast<float>(found.size());
    }
    std::transform(log_probs.row(r), log_probs.row(r) + log_probs.columns, logits.row(r),
                   [shift](float log_prob) { return log_prob + shift; });
  }
  return logits;
}

}  // namespace heed
