#include "tune/rates.h"

#include <algorithm>
#include <cmath>

#include "base/errors.h"
#include "base/median.h"
#include "train/run/trainer.h"

namespace heed {
namespace {

constexpr int64_t kUpdates = 120, kUpdatesBefore = 5;  // the first ones are slower
constexpr double kDown = 30.0, kUp = 100.0;
constexpr size_t kHalf = 5;  // updates before and after one, which are smoothed, and between which slopes are taken
// The loss has risen where it is above its minimum by this share of how far it fell.
constexpr double kRise = 0.1;
constexpr double kLeastFall = 0.02;  // of the loss: less says nothing

class RateListener final : public TrainListener {
 public:
  explicit RateListener(TrainListener& other) : other_(other) {}
  void on_message(const std::string&) override {}
  void on_start() override {}
  void on_status(const TrainStatus& status) override {
    points.push_back({status.learning_rate, status.loss});
    seconds.push_back(status.seconds);
    epoch = status.epoch;
    other_.on_status(status);
  }
  void on_validation(const ValidationStatus&) override {}
  bool wants_to_stop() override { return other_.wants_to_stop() || std::ssize(points) >= kUpdates || has_risen(); }

  std::vector<RatePoint> points;
  std::vector<double> seconds;
  double epoch = 0.0;

 private:
  // What comes after a loss above that of the beginning says nothing more.
  bool has_risen() const { return std::ssize(points) > kUpdates / 2 && points.back().loss > 1.5 * points.front().loss; }

  TrainListener& other_;
};

double seconds_per_update(const std::vector<double>& seconds) {
  std::vector<double> each;
  for (size_t i = 1; i < seconds.size(); ++i) {
    if (static_cast<int64_t>(i) > kUpdatesBefore || seconds.size() <= kUpdatesBefore + 1) {
      each.push_back(seconds[i] - seconds[i - 1]);
    }
  }
  return each.empty() ? 0.0 : median(each);
}

// Means over neighbours, as far as losses are finite.
std::vector<double> smoothed(const std::vector<RatePoint>& points) {
  size_t count = 0;
  while (count < points.size() && std::isfinite(points[count].loss)) {
    ++count;
  }
  std::vector<double> smooth;
  smooth.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    const size_t begin = i < kHalf ? 0 : i - kHalf, end = std::min(count, i + kHalf + 1);
    double sum = 0.0;
    for (size_t j = begin; j < end; ++j) {
      sum += points[j].loss;
    }
    smooth.push_back(sum / static_cast<double>(end - begin));
  }
  return smooth;
}

}  // namespace

RateRange judge_rates(const std::vector<RatePoint>& points) {
  const std::vector<double> smooth = smoothed(points);
  if (smooth.size() < 4 * kHalf) {
    return {};
  }
  const auto lowest = static_cast<size_t>(std::ranges::min_element(smooth) - smooth.begin());
  const double fall = smooth.front() - smooth[lowest];
  size_t highest = lowest;
  while (highest + 1 < smooth.size() && smooth[highest] <= smooth[lowest] + kRise * fall) {
    ++highest;
  }
  RateRange range{.lowest = points[lowest].rate, .highest = points[highest].rate};
  if (fall < kLeastFall * std::abs(smooth.front())) {
    return range;
  }
  double steepest = 0.0;
  for (size_t i = kHalf; i + kHalf < smooth.size(); ++i) {
    if (const double slope = smooth[i - kHalf] - smooth[i + kHalf]; slope > steepest) {
      steepest = slope;
      range.suggested = points[i].rate;
    }
  }
  return range;
}

RangeTest test_rates(Backend& backend, Recipe recipe, const std::filesystem::path& folder, TrainListener& listener) {
  const double peak = recipe.schedule.peak;
  recipe.schedule = {
      .kind = ScheduleKind::rising, .peak = peak * kUp, .final = peak / kDown, .warmup = 0, .length = kUpdates};
  recipe.training.updates = kUpdates + 1;
  recipe.training.epochs = 0;
  recipe.training.minutes = 0.0;
  recipe.training.log_every = 1;
  recipe.validation = {.every = INT32_MAX, .patience = 0};
  recipe.checkpoints = {.every = 0, .final_weights = FinalWeights::last};
  std::filesystem::remove_all(folder);
  RateListener rates(listener);
  try {
    Trainer(backend, recipe, ModelFolder{folder}, TrainStart::fresh, rates).run();
  } catch (const NumericError&) {  // beyond the highest rate
  }
  std::filesystem::remove_all(folder);
  const auto updates = static_cast<double>(std::max<size_t>(1, rates.points.size()));
  return {.points = std::move(rates.points),
          .seconds_per_update = seconds_per_update(rates.seconds),
          .epochs_per_update = rates.epoch / updates};
}

}  // namespace heed
