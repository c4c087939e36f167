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
  // Everything in the text format of Prometheus.
  std::string text(const std::vector<Gauge>& gauges) const;

 private:
  struct Histogram {
    std::array<uint64_t, 16> counts{};  // up to each bound, and above all
    uint64_t count = 0;
    double sum = 0.0;
  };
  using ByModel = std::map<std::string, Histogram, std::less<>>;

  mutable std::mutex mutex_;
  std::map<std::string, uint64_t> requests_;  // by their labels
  std::map<std::string, uint64_t> refusals_;  // by their labels
  std::map<std::string, std::pair<int64_t, int64_t>, std::less<>> tokens_;
  std::array<ByModel, 3> latencies_;
};

}  // namespace heed::serve
