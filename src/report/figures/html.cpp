#include "report/figures/html.h"

#include <algorithm>
#include <cmath>

#include "text/unicode/unicode.h"

namespace heed {

std::string escape_html(std::string_view text) {
  std::string escaped;
  for (const char c : replace_invalid_utf8(std::string(text))) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string grouped(int64_t count) {
  std::string digits = std::to_string(count);
  for (auto position = static_cast<int64_t>(digits.size()) - 3; position > 0; position -= 3) {
    digits.insert(static_cast<size_t>(position), ",");
  }
  return digits;
}

std::string counted(int64_t count, std::string_view what) {
  return fmt::format("{} {}{}", grouped(count), what, count == 1 ? "" : "s");
}

std::string short_count(int64_t count) {
  const auto value = static_cast<double>(count);
  return count >= 1'000'000 ? fmt::format("{:.1f} M", value / 1e6) : grouped(count);
}

std::string duration(double seconds) {
  const auto whole = static_cast<int64_t>(std::clamp(std::round(seconds), 0.0, 1e12));
  if (whole >= 3600) {
    return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
  }
  return whole >= 60 ? fmt::format("{} min {:02} s", whole / 60, whole % 60) : fmt::format("{} s", whole);
}

std::string number_or_dash(double value, int digits) {
  return std::isfinite(value) ? fmt::format("{:.{}f}", value, digits) : "–";
}

}  // namespace heed
