// What a server counts, for Prometheus: by model and interface, never by client.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heed::serve {

// Times in seconds: until a text's first token, between two of its tokens, and until the whole answer.
enum class Latency : uint8_t { first_token, between_tokens, whole };

// A label's value in quotation marks.
std::string label_value(std::string_view value);

// Safe to use from several threads at once.
class Metrics {
 public:
  void count_request(std::string_view interface, std::string_view model, unsigned status);
  void count_refusal(std::string_view reason, std::string_view model);
  void count_tokens(std::string_view model, int64_t read, int64_t written);
  void observe(Latency what, std::string_view model, double seconds);

  // A value at this moment.
  struct Gauge {
    std::string_view name, help;
    std::string labels;  // `model="de-en"`, or empty
    double value;
  };
  // How many of some values are at most as large as each bound and larger than the one before, and larger than all.
  struct Histogram {
    std::vector<uint64_t> counts;  // one more than bounds
    double sum = 0.0;
  };
  using ByModel = std::map<std::string, Histogram, std::less<>>;
  // Values of models since they were loaded, which are counted elsewhere.
  struct Distribution {
    std::string_view name, help;
    std::vector<double> bounds;
    ByModel models;
  };
  struct Readings {
    std::vector<Gauge> gauges;
    std::vector<Distribution> distributions;
  };
  // Everything in the text format of Prometheus.
  std::string text(const Readings& readings) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, uint64_t> requests_;  // by their labels
  std::map<std::string, uint64_t> refusals_;  // by their labels
  std::map<std::string, std::pair<int64_t, int64_t>, std::less<>> tokens_;
  std::array<ByModel, 3> latencies_;
};

}  // namespace heed::serve
