#include "tune/tuning_table.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace heed {
namespace {

std::string number(double value) { return std::isfinite(value) ? fmt::format("{:.4f}", value) : "-"; }

}  // namespace

const Leg* leg_at(const Trial& trial, double share) {
  const auto found = std::ranges::find(trial.legs, share, &Leg::share);
  return found == trial.legs.end() ? nullptr : &*found;
}

std::string compared_by(const TuningState& state) {
  const Trial& recipe = state.trials.front();
  // Losses are compared as their negatives.
  const bool by_loss = recipe.reached() == 1.0 && recipe.legs.back().value < 0.0;
  return by_loss ? "loss" : shown_score(state);
}

std::string shown_score(const TuningState& state) {
  for (const Trial& trial : state.trials) {
    if (!trial.legs.empty() && !trial.legs.back().others.empty()) {
      return trial.legs.back().others.front().name;
    }
  }
  return "loss";
}

std::string busy_warning(const TuningState& state, const ShownRung& rung) {
  constexpr double kMuch = 1.25;
  int64_t fewest = std::numeric_limits<int64_t>::max(), most = 0;
  for (const size_t index : rung.trials) {
    const Trial& trial = state.trials[index];
    const Leg* const leg = leg_at(trial, rung.share);
    const bool has_same_cost = std::ranges::none_of(trial.changes, [](const Change& change) {
      return (change.key.starts_with("model.") && !change.key.ends_with("dropout")) ||
             change.key.starts_with("data.") || change.key.starts_with("tokenizer.") ||
             change.key == "training.accumulate";
    });
    if (leg != nullptr && has_same_cost) {
      fewest = std::min(fewest, leg->update);
      most = std::max(most, leg->update);
    }
  }
  return static_cast<double>(most) > kMuch * static_cast<double>(fewest)
             ? fmt::format(
                   "The machine was busy with other things: trials of one form did {} to {} updates in the same "
                   "time, and compare badly.",
                   fewest, most)
             : "";
}

std::vector<std::string> tuning_table(const TuningState& state, const ShownRung& rung) {
  std::vector<size_t> order = rung.trials;
  const auto value_of = [&](size_t trial) {
    const Leg* const leg = leg_at(state.trials[trial], rung.share);
    return leg == nullptr || !std::isfinite(leg->value) ? -INFINITY : leg->value;
  };
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return value_of(a) > value_of(b); });
  const std::string by = shown_score(state);
  const bool has_score = by != "loss";
  std::vector<std::string> lines{fmt::format("{:>5} {:>8} {:>8}{}{:>8}  {:<10} settings", "trial", "updates", "loss",
                                             has_score ? fmt::format(" {:>8}", by) : "", "minutes",
                                             rung.share < 1.0 ? fmt::format("at {:g}", rung.share) : "at the end")};
  for (const size_t index : order) {
    const Trial& trial = state.trials[index];
    const Leg* const leg = leg_at(trial, rung.share);
    double score = std::nan("");
    for (const NamedScore& other : leg == nullptr ? std::vector<NamedScore>() : leg->others) {
      score = other.name == by ? other.value : score;
    }
    const bool goes_on = std::ranges::count(rung.kept, index) > 0;
    const std::string_view outcome = !trial.failure.empty() ? "failed"
                                     : rung.share == 1.0    ? (value_of(index) == value_of(order.front()) ? "best" : "")
                                     : goes_on              ? "goes on"
                                                            : "stopped";
    lines.push_back(fmt::format("{:>5} {:>8} {:>8}{}{:>8.1f}  {:<10} {}", index, leg == nullptr ? 0 : leg->update,
                                number(leg == nullptr ? std::nan("") : leg->loss),
                                has_score ? fmt::format(" {:>8}", number(score)) : "", trial.seconds / 60.0, outcome,
                                describe(trial.changes)));
  }
  return lines;
}

}  // namespace heed
