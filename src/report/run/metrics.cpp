#include "report/run/metrics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/errors.h"
#include "base/rounding.h"
#include "base/text/excerpt.h"
#include "base/text/json_depth.h"
#include "report/run/task_metrics.h"

namespace heed {
namespace {

using nlohmann::json;

// One line, with its position for errors.
class Line {
 public:
  Line(const json& object, const std::string& where) : object_(object), where_(where) {}

  // JSON has no NaN: a number that is not finite is null.
  double number(const char* key) const {
    const json value = object_.value(key, json());
    require<FormatError>(value.is_null() || value.is_number(), where_, "\"{}\" is {}, expected a number", key,
                         shown(value.dump()));
    return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
  }
  int64_t count(const char* key) const {
    const double value = number(key);
    if (std::isnan(value)) {
      return 0;
    }
    require<FormatError>(value >= 0.0 && value <= 9e15 && value == std::floor(value), where_,
                         "\"{}\" is {}, expected a count", key, value);
    return static_cast<int64_t>(value);
  }
  // A list of as many, or none.
  std::vector<int64_t> counts(const char* key, size_t expected) const {
    const json list = object_.value(key, json::array());
    const bool fits = list.is_array() && (list.empty() || list.size() == expected) &&
                      std::ranges::all_of(list, [](const json& entry) { return entry.is_number_unsigned(); });
    require<FormatError>(fits, where_, "\"{}\" is {}, expected {} counts", key, shown(list.dump()), expected);
    return list.get<std::vector<int64_t>>();
  }
  int64_t update() const {
    require<FormatError>(object_.contains("update"), where_, "has no \"update\"");
    return count("update");
  }
  std::string text(const char* key) const {
    const json value = object_.value(key, json());
    require<FormatError>(value.is_null() || value.is_string(), where_, "\"{}\" is {}, expected a text", key,
                         shown(value.dump()));
    return value.is_null() ? "" : value.get<std::string>();
  }
  std::vector<Sample> samples() const {
    const json list = object_.value("samples", json::array());
    require<FormatError>(list.is_array(), where_, "\"samples\" is {}, expected a list", shown(list.dump()));
    std::vector<Sample> samples;
    for (const json& entry : list) {
      require<FormatError>(entry.is_object(), where_, "a sample is {}, expected an object", shown(entry.dump()));
      const Line sample(entry, where_);
      samples.push_back({sample.text("prompt"), sample.text("text")});
    }
    return samples;
  }
  std::vector<LabelFigures> labels() const {
    const json list = object_.value("labels", json::array());
    require<FormatError>(list.is_array(), where_, "\"labels\" is {}, expected a list", shown(list.dump()));
    std::vector<LabelFigures> labels;
    for (const json& entry : list) {
      require<FormatError>(entry.is_object(), where_, "a label is {}, expected an object", shown(entry.dump()));
      const Line label(entry, where_);
      labels.push_back({label.text("label"), label.count("expected"), label.count("predicted"), label.count("right"),
                        label.counts("predicted_as", list.size())});
    }
    return labels;
  }
  std::vector<NamedScore> scores() const {
    std::vector<NamedScore> scores;
    for (const Metric& metric : known_metrics()) {
      const std::string key(metric.key);
      if (const double value = number(key.c_str()); !std::isnan(value)) {
        scores.push_back({key, value});
      }
    }
    return scores;
  }
  bool flag(const char* key) const {
    const json value = object_.value(key, json(false));
    require<FormatError>(value.is_boolean(), where_, "\"{}\" is {}, expected true or false", key, shown(value.dump()));
    return value.get<bool>();
  }

 private:
  const json& object_;
  const std::string& where_;
};

template <class Point>
void drop_after(std::vector<Point>& points, int64_t update) {
  std::erase_if(points, [update](const Point& point) { return point.update > update; });
}

void start(RunMetrics& metrics, const Line& line) {
  const int64_t update = line.update();
  if (update == 0) {
    metrics = {};
    metrics.started = line.number("time");
  } else {
    drop_after(metrics.train, update);
    drop_after(metrics.validation, update);
    std::erase_if(metrics.resumes, [update](int64_t resumed) { return resumed >= update; });
    metrics.resumes.push_back(update);
  }
  metrics.end_reason.clear();
  metrics.parameters = line.count("parameters");
  metrics.trained_parameters = line.count("trained_parameters");
  metrics.threads = line.count("threads");
  metrics.train_sentences = line.count("train_sentences");
  metrics.validation_sentences = line.count("validation_sentences");
  metrics.train_texts = line.count("train_texts");
  metrics.train_tokens = line.count("train_tokens");
  metrics.precision = line.text("precision");
  metrics.layout = line.text("layout");
}

void note_time(RunMetrics& metrics, double seconds) {
  if (std::isfinite(seconds)) {
    metrics.seconds = seconds;
  }
}

void take(RunMetrics& metrics, const json& object, const std::string& where) {
  const Line line(object, where);
  const std::string event = line.text("event");
  require<FormatError>(!event.empty(), where, "has no \"event\"");
  if (event == "start") {
    start(metrics, line);
  } else if (event == "train") {
    metrics.train.push_back({.update = line.update(),
                             .epoch = line.number("epoch"),
                             .loss = line.number("loss"),
                             .nll = line.number("nll"),
                             .learning_rate = line.number("learning_rate"),
                             .gradient_norm = line.number("gradient_norm"),
                             .target_tokens_per_second = line.number("target_tokens_per_second"),
                             .seconds = line.number("seconds"),
                             .kl = line.number("kl"),
                             .peak_memory_bytes = line.number("peak_memory_bytes")});
    note_time(metrics, metrics.train.back().seconds);
  } else if (event == "validation") {
    metrics.validation.push_back({.update = line.update(),
                                  .loss = line.number("loss"),
                                  .scores = line.scores(),
                                  .seconds = line.number("seconds"),
                                  .best = line.flag("best"),
                                  .samples = line.samples(),
                                  .labels = line.labels()});
    note_time(metrics, metrics.validation.back().seconds);
  } else if (event == "end") {
    const std::string reason = line.text("reason");
    metrics.end_reason = reason.empty() ? "end" : reason;
    note_time(metrics, line.number("seconds"));
  }
}

}  // namespace

int64_t RunMetrics::updates() const {
  int64_t last = resumes.empty() ? 0 : resumes.back();
  for (const TrainPoint& point : train) {
    last = std::max(last, point.update);
  }
  for (const ValidationPoint& point : validation) {
    last = std::max(last, point.update);
  }
  return last;
}

double ValidationPoint::score(std::string_view name) const {
  const auto it = std::ranges::find(scores, name, &NamedScore::name);
  return it == scores.end() ? TrainPoint::kNone : it->value;
}

const ValidationPoint* RunMetrics::with_lowest_loss() const {
  const ValidationPoint* lowest = nullptr;
  for (const ValidationPoint& point : validation) {
    if (std::isfinite(point.loss) && (lowest == nullptr || point.loss < lowest->loss)) {
      lowest = &point;
    }
  }
  return lowest;
}

const ValidationPoint* RunMetrics::best() const {
  const auto marked = std::ranges::find(validation.rbegin(), validation.rend(), true, &ValidationPoint::best);
  return marked != validation.rend() ? &*marked : with_lowest_loss();
}

RunMetrics parse_metrics(std::string_view text, std::string_view name) {
  RunMetrics metrics;
  for (int64_t number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    const bool ended = end != std::string_view::npos;
    const std::string_view content = text.substr(0, end);
    text.remove_prefix(ended ? end + 1 : text.size());
    if (content.find_first_not_of(" \t\r") == std::string_view::npos) {
      continue;
    }
    const std::string where = fmt::format("{}:{}", name, number);
    require_shallow_json(content, where);
    const json object = json::parse(content, nullptr, false);
    if (object.is_discarded() && !ended) {
      metrics.truncated = true;
      break;
    }
    require<FormatError>(object.is_object(), where, "is not a JSON object");
    take(metrics, object, where);
  }
  return metrics;
}

std::vector<TrainPoint> thinned(const std::vector<TrainPoint>& points, size_t max_points) {
  if (points.size() <= max_points) {
    return points;
  }
  constexpr std::array kAveraged{&TrainPoint::loss, &TrainPoint::nll, &TrainPoint::kl, &TrainPoint::gradient_norm,
                                 &TrainPoint::target_tokens_per_second};
  const size_t group = ceil_div(points.size(), max_points);
  std::vector<TrainPoint> means;
  for (size_t first = 0; first < points.size(); first += group) {
    const size_t count = std::min(group, points.size() - first);
    TrainPoint mean = points[first + count - 1];
    for (const auto member : kAveraged) {
      double sum = 0.0;
      for (size_t i = first; i < first + count; ++i) {
        sum += points[i].*member;
      }
      mean.*member = sum / static_cast<double>(count);
    }
    means.push_back(mean);
  }
  return means;
}

}  // namespace heed
