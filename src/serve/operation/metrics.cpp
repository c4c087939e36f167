#include "serve/operation/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>

namespace heed::serve {
namespace {

constexpr std::array<double, 15> kBounds{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                         0.5,   1.0,    2.5,   5.0,  10.0,  30.0, 60.0};

struct LatencyName {
  std::string_view name, help;
};
constexpr std::array<LatencyName, 3> kLatencies{{
    {"heed_first_token_seconds", "Time from a request's arrival to its first token"},
    {"heed_between_tokens_seconds", "Time between two tokens of a text"},
    {"heed_request_seconds", "Time from a request's arrival to the end of its answer"},
}};

void add_head(std::string& text, std::string_view name, std::string_view help, std::string_view type) {
  fmt::format_to(std::back_inserter(text), "# HELP {0} {1}\n# TYPE {0} {2}\n", name, help, type);
}

void add_histograms(std::string& text, std::string_view name, std::string_view help, std::span<const double> bounds,
                    const Metrics::ByModel& models) {
  const auto out = std::back_inserter(text);
  add_head(text, name, help, "histogram");
  for (const auto& [model, histogram] : models) {
    uint64_t below = 0;
    for (size_t b = 0; b < bounds.size(); ++b) {
      below += histogram.counts[b];
      fmt::format_to(out, "{}_bucket{{model={},le=\"{}\"}} {}\n", name, label_value(model), bounds[b], below);
    }
    fmt::format_to(out,
                   "{0}_bucket{{model={1},le=\"+Inf\"}} {2}\n{0}_sum{{model={1}}} {3}\n{0}_count{{model={1}}} {2}\n",
                   name, label_value(model), below + histogram.counts.back(), histogram.sum);
  }
}

}  // namespace

std::string label_value(std::string_view value) {
  std::string text = "\"";
  for (const char c : value) {
    text += c == '\n' ? "\\n" : c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
  }
  return text + "\"";
}

void Metrics::count_request(std::string_view interface, std::string_view model, unsigned status) {
  const std::string labels =
      fmt::format("interface={},model={},status=\"{}\"", label_value(interface), label_value(model), status);
  const std::lock_guard lock(mutex_);
  ++requests_[labels];
}

void Metrics::count_refusal(std::string_view reason, std::string_view model) {
  const std::string labels = fmt::format("reason={},model={}", label_value(reason), label_value(model));
  const std::lock_guard lock(mutex_);
  ++refusals_[labels];
}

void Metrics::count_tokens(std::string_view model, int64_t read, int64_t written) {
  const std::lock_guard lock(mutex_);
  auto& [in, out] = tokens_[std::string(model)];
  in += read;
  out += written;
}

void Metrics::observe(Latency what, std::string_view model, double seconds) {
  const std::lock_guard lock(mutex_);
  ByModel& models = latencies_[static_cast<size_t>(what)];
  auto found = models.find(model);
  if (found == models.end()) {
    found = models.emplace(model, Histogram{.counts = std::vector<uint64_t>(kBounds.size() + 1)}).first;
  }
  Histogram& histogram = found->second;
  ++histogram.counts[static_cast<size_t>(std::ranges::lower_bound(kBounds, seconds) - kBounds.begin())];
  histogram.sum += seconds;
}

std::string Metrics::text(const Readings& readings) const {
  std::string text;
  const auto out = std::back_inserter(text);
  const std::lock_guard lock(mutex_);
  add_head(text, "heed_requests_total", "Requests that were answered", "counter");
  for (const auto& [labels, count] : requests_) {
    fmt::format_to(out, "heed_requests_total{{{}}} {}\n", labels, count);
  }
  add_head(text, "heed_refusals_total", "Requests that were refused, by reason", "counter");
  for (const auto& [labels, count] : refusals_) {
    fmt::format_to(out, "heed_refusals_total{{{}}} {}\n", labels, count);
  }
  add_head(text, "heed_tokens_total", "Tokens that were read or written", "counter");
  for (const auto& [model, tokens] : tokens_) {
    fmt::format_to(out,
                   "heed_tokens_total{{model={0},direction=\"read\"}} {1}\n"
                   "heed_tokens_total{{model={0},direction=\"written\"}} {2}\n",
                   label_value(model), tokens.first, tokens.second);
  }
  for (size_t i = 0; i < kLatencies.size(); ++i) {
    const auto& [name, help] = kLatencies[i];
    add_histograms(text, name, help, kBounds, latencies_[i]);
  }
  for (const Distribution& one : readings.distributions) {
    add_histograms(text, one.name, one.help, one.bounds, one.models);
  }
  std::string_view last;
  for (const Gauge& gauge : readings.gauges) {
    if (gauge.name != last) {
      add_head(text, gauge.name, gauge.help, "gauge");
      last = gauge.name;
    }
    fmt::format_to(out, "{}{}{}{} {}\n", gauge.name, gauge.labels.empty() ? "" : "{", gauge.labels,
                   gauge.labels.empty() ? "" : "}", gauge.value);
  }
  return text;
}

}  // namespace heed::serve
