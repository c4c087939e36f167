#include "decode/ensemble_stepper.h"

#include <algorithm>
#include <utility>

namespace heed {
namespace {

View view_of(const HostView<float>& values) {
  return {values.data, DType::f32, values.rows, values.columns, values.stride};
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
      for (const MemberIds& ids : begun) {
        for (size_t k = 0; k < ids.size(); ++k) {
          members_[k]->remove(ids[k]);
        }
      }
      throw;
    }
  }
  std::vector<SequenceId> sequences;
  for (MemberIds& ids : begun) {
    sequences.push_back(add(std::move(ids)));
  }
  return sequences;
}

void EnsembleStepper::restrict_to(std::span<const Candidates> candidates) {
  for (size_t k = 0; k < members_.size(); ++k) {
    std::vector<Candidates> of_member(candidates.begin(), candidates.end());
    for (Candidates& one : of_member) {
      one.sequence = sequences_.at(one.sequence.value)[k];
    }
    members_[k]->restrict_to(of_member);
  }
}

SequenceId EnsembleStepper::fork(SequenceId sequence) {
  MemberIds forks;
  const MemberIds& ids = sequences_.at(sequence.value);
  for (size_t k = 0; k < members_.size(); ++k) {
    forks.push_back(members_[k]->fork(ids[k]));
  }
  return add(std::move(forks));
}

void EnsembleStepper::roll_back(SequenceId sequence, int64_t length) {
  const MemberIds& ids = sequences_.at(sequence.value);
  for (size_t k = 0; k < members_.size(); ++k) {
    members_[k]->roll_back(ids[k], length);
  }
}

void EnsembleStepper::remove(SequenceId sequence) {
  const MemberIds ids = std::move(sequences_.extract(sequence.value).mapped());
  for (size_t k = 0; k < members_.size(); ++k) {
    members_[k]->remove(ids[k]);
  }
}

int64_t EnsembleStepper::length(SequenceId sequence) const {
  return members_.front()->length(sequences_.at(sequence.value).front());
}

std::vector<Fresh> EnsembleStepper::fresh_of_member(std::span<const Fresh> fresh, size_t member) const {
  std::vector<Fresh> of_member(fresh.begin(), fresh.end());
  for (Fresh& one : of_member) {
    one.sequence = sequences_.at(one.sequence.value)[member];
  }
  return of_member;
}

NextTokens EnsembleStepper::next(std::span<const Fresh> fresh) {
  std::vector<NextTokens> found;
  for (size_t k = 0; k < members_.size(); ++k) {
    try {
      found.push_back(members_[k]->next(fresh_of_member(fresh, k)));
    } catch (const BudgetError&) {
      for (const Fresh& one : fresh) {
        const MemberIds& ids = sequences_.at(one.sequence.value);
        for (size_t before = 0; before < k; ++before) {
          members_[before]->roll_back(ids[before], members_[k]->length(ids[k]));
        }
      }
      throw;
    }
  }
  return mean_of(found);
}

NextTokens EnsembleStepper::mean_of(std::span<const NextTokens> found) {
  const auto [rows, columns] = std::pair(found.front().log_probs.rows, found.front().log_probs.columns);
  std::vector<View> log_probs;
  for (const NextTokens& of_member : found) {
    log_probs.push_back(view_of(of_member.log_probs));
  }
  mean_.resize(std::max(mean_.size(), static_cast<size_t>(rows * columns)));
  const HostView<float> mean{mean_.data(), rows, columns, columns};
  if (rows > 0) {
    backend_.average_probabilities({.log_probs = log_probs, .mean = view_of(mean)});
  }
  return {found.front().logits.rows > 0 ? mean : HostView<float>{}, mean};
}

}  // namespace heed
