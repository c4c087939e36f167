#include <nlohmann/json.hpp>
#include <utility>

#include "base/text/base64.h"
#include "report/comparison/comparison.h"
#include "report/page.h"
#include "report/run/task_metrics.h"

namespace heed {
namespace {

using nlohmann::json;

constexpr size_t kMaxTrainPoints = 5000;

template <class Point, class Value>
json column(const std::vector<Point>& points, Value Point::*member) {
  json values = json::array();
  for (const Point& point : points) {
    values.push_back(point.*member);
  }
  return values;
}

// One array per key: shorter than one object per point, and what a curve needs.
json curves(const RunMetrics& metrics, const TaskMetrics& task) {
  json validation{{"update", column(metrics.validation, &ValidationPoint::update)},
                  {"loss", column(metrics.validation, &ValidationPoint::loss)},
                  {"seconds", column(metrics.validation, &ValidationPoint::seconds)},
                  {"best", column(metrics.validation, &ValidationPoint::best)}};
  json shown = json::array();
  for (const Metric& metric : task.metrics) {
    json& values = validation[std::string(metric.key)] = json::array();
    for (const ValidationPoint& point : metrics.validation) {
      values.push_back(point.score(metric.key));
    }
    // An infinite number is null in JSON.
    shown.push_back({{"key", metric.key}, {"name", metric.name}, {"highest", metric.highest}});
  }
  const std::vector<TrainPoint> train = thinned(metrics.train, kMaxTrainPoints);
  return {{"train",
           {{"update", column(train, &TrainPoint::update)},
            {"epoch", column(train, &TrainPoint::epoch)},
            {"loss", column(train, &TrainPoint::loss)},
            {"nll", column(train, &TrainPoint::nll)},
            {"kl", column(train, &TrainPoint::kl)},
            {"learning_rate", column(train, &TrainPoint::learning_rate)},
            {"gradient_norm", column(train, &TrainPoint::gradient_norm)},
            {"target_tokens_per_second", column(train, &TrainPoint::target_tokens_per_second)},
            {"seconds", column(train, &TrainPoint::seconds)},
            {"peak_memory_bytes", column(train, &TrainPoint::peak_memory_bytes)}}},
          {"validation", std::move(validation)},
          {"metrics", std::move(shown)},
          {"targets", task.targets},
          {"resumes", metrics.resumes}};
}

json sample(const TranslatedSample& s) {
  json maps = json::object();
  for (const auto& [name, bytes] :
       {std::pair("cross", &s.maps.cross), {"encoder", &s.maps.encoder}, {"decoder", &s.maps.decoder}}) {
    if (!bytes->empty()) {
      maps[name] = encode_base64(*bytes);
    }
  }
  return {{"source", s.line.source},
          {"translation", s.translation},
          {"source_tokens", s.source_tokens},
          {"target_tokens", s.target_tokens},
          {"fed_tokens", s.fed_tokens},
          {"log_probabilities", s.log_probabilities},
          {"maps", maps}};
}

// Like a sample whose steps wrote the text itself.
json passage(const Passage& p) {
  json maps = json::object();
  if (!p.maps.empty()) {
    maps["decoder"] = encode_base64(p.maps);
  }
  return {{"target_tokens", p.expected_tokens},
          {"fed_tokens", p.fed_tokens},
          {"log_probabilities", p.log_probabilities},
          {"maps", maps}};
}

// An encoder's text has a source alone.
json encoder_text(const EncoderText& text) {
  json maps = json::object();
  if (!text.maps.empty()) {
    maps["encoder"] = encode_base64(text.maps);
  }
  return {{"source", text.text}, {"source_tokens", text.tokens}, {"maps", maps}};
}

json positions(const PositionMap& table) {
  return {{"kind", table.kind},
          {"positions", table.positions},
          {"columns", table.columns},
          {"limit", table.limit},
          {"values", encode_base64(table.values)}};
}

// Only "<" could end the element that contains this.
std::string without_tags(const std::string& json_text) {
  std::string safe;
  for (const char c : json_text) {
    safe += c == '<' ? "\\u003c" : c == '>' ? "\\u003e" : c == '&' ? "\\u0026" : std::string(1, c);
  }
  return safe;
}

std::string dumped(const json& root) { return without_tags(root.dump(-1, ' ', false, json::error_handler_t::replace)); }

}  // namespace

std::string comparison_data(std::span<const ComparedRun> runs, const TaskMetrics& task) {
  json root{{"runs", json::array()}};
  for (const ComparedRun& run : runs) {
    root["runs"].push_back({{"name", run.name}, {"curves", curves(run.metrics, task)}});
  }
  return dumped(root);
}

std::string report_data(const ReportContent& content) {
  json root{{"model",
             {{"encoder_layers", content.model.encoder_layers},
              {"decoder_layers", content.model.decoder_layers},
              {"heads", content.model.heads},
              {"width", content.model.model}}},
            {"curves", content.metrics ? curves(*content.metrics, task_metrics(content.model)) : json()},
            {"samples", json::array()},
            {"positions", content.positions ? positions(*content.positions) : json()}};
  for (const TranslatedSample& s : content.samples) {
    root["samples"].push_back(sample(s));
  }
  for (const Passage& p : content.passages) {
    root["samples"].push_back(passage(p));
  }
  for (const EncoderText& text : content.texts) {
    root["samples"].push_back(encoder_text(text));
  }
  return dumped(root);
}

}  // namespace heed
