#include "plan/units.h"

#include <array>
#include <charconv>
#include <cmath>
#include <span>
#include <utility>

#include "base/errors.h"

namespace heed {
namespace {

using Unit = std::pair<std::string_view, double>;

constexpr std::array kBandwidths{
    Unit{"bit", 1.0 / 8}, Unit{"kbit", 1e3 / 8}, Unit{"Mbit", 1e6 / 8}, Unit{"Gbit", 1e9 / 8}, Unit{"Tbit", 1e12 / 8},
    Unit{"bps", 1.0 / 8}, Unit{"kbps", 1e3 / 8}, Unit{"Mbps", 1e6 / 8}, Unit{"Gbps", 1e9 / 8}, Unit{"Tbps", 1e12 / 8},
    Unit{"B", 1.0},       Unit{"kB", 1e3},       Unit{"MB", 1e6},       Unit{"GB", 1e9},       Unit{"TB", 1e12}};
constexpr std::array kLatencies{Unit{"ns", 1e-9}, Unit{"us", 1e-6}, Unit{"µs", 1e-6}, Unit{"ms", 1e-3}, Unit{"s", 1.0}};
constexpr double kKibi = 1024.0, kMebi = kKibi * kKibi, kGibi = kMebi * kKibi, kTebi = kGibi * kKibi;
constexpr std::array kSizes{Unit{"B", 1.0},     Unit{"kB", 1e3},    Unit{"MB", 1e6},
                            Unit{"GB", 1e9},    Unit{"TB", 1e12},   Unit{"KiB", kKibi},
                            Unit{"MiB", kMebi}, Unit{"GiB", kGibi}, Unit{"TiB", kTebi}};
constexpr std::array kRates{Unit{"", 1.0},  Unit{"k", 1e3},  Unit{"M", 1e6},
                            Unit{"G", 1e9}, Unit{"T", 1e12}, Unit{"P", 1e15}};

// In seconds, bytes or FLOPs; far beyond any machine, and quotients of them are finite.
constexpr double kSmallest = 1e-12, kLargest = 1e24;

enum class Zero : uint8_t { refused, allowed };

double quantity(std::string_view text, std::string_view where, std::span<const Unit> units, Zero zero,
                std::string_view examples) {
  const char* const end = text.data() + text.size();
  double number = 0.0;
  const auto [unit_begin, error] = std::from_chars(text.data(), end, number);
  require<ConfigError>(error == std::errc(), where, "'{}' is not a number with a unit, such as {}", text, examples);
  const std::string_view unit(unit_begin, static_cast<size_t>(end - unit_begin));
  if (zero == Zero::allowed && number == 0.0 && unit.empty()) {
    return 0.0;
  }
  for (const auto& [name, factor] : units) {
    if (unit == name) {
      const double value = number * factor;
      const bool in_range = value >= kSmallest && value <= kLargest;
      require<ConfigError>(in_range || (zero == Zero::allowed && number == 0.0), where, "'{}' is too {}", text,
                           value < kSmallest ? "small" : "large");
      return value;
    }
  }
  fail<ConfigError>(where, "'{}' is not a number with a unit, such as {}", text, examples);
}

}  // namespace

double parse_bandwidth(std::string_view text, std::string_view where) {
  const std::string_view without = text.ends_with("/s") ? text.substr(0, text.size() - 2) : text;
  return quantity(without, where, kBandwidths, Zero::refused, "1Gbit, 100Mbit or 12GB (a second)");
}

double parse_latency(std::string_view text, std::string_view where) {
  return quantity(text, where, kLatencies, Zero::allowed, "50us, 1ms or 0.2s");
}

double parse_size(std::string_view text, std::string_view where) {
  return quantity(text, where, kSizes, Zero::refused, "16GB, 512MB or 16GiB");
}

double parse_rate(std::string_view text, std::string_view where) {
  return quantity(text, where, kRates, Zero::refused, "500G, 1.5T or 5e11");
}

std::string describe_bandwidth(double bytes_per_second) {
  const double bits = 8.0 * bytes_per_second;
  return bits >= 1e9   ? fmt::format("{:.3g} Gbit/s", bits / 1e9)
         : bits >= 1e6 ? fmt::format("{:.3g} Mbit/s", bits / 1e6)
                       : fmt::format("{:.3g} kbit/s", bits / 1e3);
}

std::string describe_latency(double seconds) {
  return seconds >= 1e-3 ? fmt::format("{:.3g} ms", seconds * 1e3) : fmt::format("{:.3g} us", seconds * 1e6);
}

std::string describe_rate(double flops_per_second) {
  return flops_per_second >= 1e12 ? fmt::format("{:.3g} TFLOP/s", flops_per_second / 1e12)
                                  : fmt::format("{:.3g} GFLOP/s", flops_per_second / 1e9);
}

}  // namespace heed
