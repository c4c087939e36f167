#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/errors.h"
#include "base/system/files.h"
#include "plan/plan.h"
#include "plan/scaling_laws.h"

namespace heed {
namespace {

constexpr double kDecades = 3.0;  // of budgets, to either side
constexpr double kWidth = 900.0, kHeight = 430.0;
constexpr double kTop = 54.0, kBottom = 320.0, kPanelWidth = 228.0;
constexpr std::array kLefts{58.0, 360.0, 658.0};
constexpr std::array kColors{"#d1495b", "#1b6ca8", "#2e8b57", "#b8860b", "#6a4c93"};

constexpr std::string_view kStyle =
    "text{font:12px system-ui,sans-serif;fill:#222}.title{font-size:15px}.tick{fill:#555;font-size:11px}"
    ".grid{stroke:#e4e4e4}.budget{stroke:#888;stroke-dasharray:4 4}.law{fill:none;stroke-width:2}";

// One quantity over budgets, both axes logarithmic.
class Panel {
 public:
  Panel(std::string& svg, double left, double flops, double (*value)(const ScalingLaw& law, double flops))
      : svg_(svg), left_(left), center_(std::log10(flops)), value_(value) {
    std::vector<double> ends;
    for (const ScalingLaw& law : scaling_laws()) {
      ends.push_back(at(law, center_ - kDecades));
      ends.push_back(at(law, center_ + kDecades));
    }
    const auto [lowest, highest] = std::ranges::minmax(ends);
    const double room = 0.04 * (highest - lowest);
    low_ = lowest - room;
    high_ = highest + room;
  }

  void draw(std::string_view title) {
    svg_ += fmt::format("<text class=\"title\" x=\"{:.0f}\" y=\"36\">{}</text>\n", left_, title);
    draw_grid();
    const double x = x_of(center_);
    svg_ += fmt::format("<path class=\"budget\" d=\"M{0:.1f} {1:.1f}V{2:.1f}\"/>\n", x, kTop, kBottom);
    for (size_t i = 0; i < scaling_laws().size(); ++i) {
      const ScalingLaw& law = scaling_laws()[i];
      // Every law is a power of the budget: a straight line here.
      svg_ += fmt::format("<path class=\"law\" stroke=\"{}\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\"/>\n", kColors[i],
                          x_of(center_ - kDecades), y_of(at(law, center_ - kDecades)), x_of(center_ + kDecades),
                          y_of(at(law, center_ + kDecades)));
      svg_ += fmt::format("<circle fill=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\"/>\n", kColors[i], x,
                          y_of(at(law, center_)));
    }
  }

 private:
  double at(const ScalingLaw& law, double log_flops) const {
    return std::log10(value_(law, std::pow(10.0, log_flops)));
  }
  double x_of(double log_flops) const {
    return left_ + (log_flops - center_ + kDecades) / (2.0 * kDecades) * kPanelWidth;
  }
  double y_of(double log_value) const { return kBottom - (log_value - low_) / (high_ - low_) * (kBottom - kTop); }

  void draw_grid() {
    for (double tick = std::ceil(center_ - kDecades); tick <= center_ + kDecades; tick += 1.0) {
      svg_ += fmt::format("<path class=\"grid\" d=\"M{0:.1f} {1:.1f}V{2:.1f}\"/>\n", x_of(tick), kTop, kBottom);
      svg_ += fmt::format(
          "<text class=\"tick\" text-anchor=\"middle\" x=\"{:.1f}\" y=\"{:.1f}\">10<tspan dy=\"-4\" "
          "font-size=\"9\">{:.0f}</tspan></text>\n",
          x_of(tick), kBottom + 18.0, tick);
    }
    for (const double tick : value_ticks()) {
      const double y = y_of(std::log10(tick));
      svg_ += fmt::format("<path class=\"grid\" d=\"M{0:.1f} {1:.1f}H{2:.1f}\"/>\n", left_, y, left_ + kPanelWidth);
      svg_ += fmt::format("<text class=\"tick\" text-anchor=\"end\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", left_ - 8.0,
                          y + 4.0, in_short(tick));
    }
    svg_ += fmt::format("<text class=\"tick\" text-anchor=\"middle\" x=\"{:.1f}\" y=\"{:.1f}\">FLOPs</text>\n",
                        left_ + kPanelWidth / 2.0, kBottom + 38.0);
  }

  // Powers of ten; if few of them are in range, also twice and five times those.
  std::vector<double> value_ticks() const {
    std::vector<double> ticks;
    for (double decade = std::floor(low_); decade <= high_; decade += 1.0) {
      for (const double digit : {1.0, 2.0, 5.0}) {
        const double tick = digit * std::pow(10.0, decade);
        const bool wanted = digit == 1.0 || high_ - low_ < 2.5;
        if (wanted && std::log10(tick) >= low_ && std::log10(tick) <= high_) {
          ticks.push_back(tick);
        }
      }
    }
    return ticks;
  }

  std::string& svg_;
  double left_, center_, low_, high_;
  double (*value_)(const ScalingLaw& law, double flops);
};

void draw_legend(std::string& svg) {
  for (size_t i = 0; i < scaling_laws().size(); ++i) {
    const size_t row = i / kLefts.size();
    const double x = kLefts[i % kLefts.size()], y = kHeight - 44.0 + 22.0 * static_cast<double>(row);
    svg += fmt::format("<circle fill=\"{}\" cx=\"{:.0f}\" cy=\"{:.0f}\" r=\"4\"/>", kColors[i], x, y);
    svg += fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\">{}</text>\n", x + 10.0, y + 4.0, scaling_laws()[i].name);
  }
}

}  // namespace

std::string in_short(double number) {
  constexpr std::array kUnits{"", "K", "M", "B", "T"};
  size_t unit = 0;
  // Rounded to three digits first, so that 999,999 is 1M and not 1000K.
  double value = number > 0.0 ? std::stod(fmt::format("{:.3g}", number)) : number;
  while (value >= 1000.0 && unit + 1 < kUnits.size()) {
    value /= 1000.0;
    ++unit;
  }
  return value < 1000.0 ? fmt::format("{:.3g}{}", value, kUnits[unit]) : fmt::format("{:.3g}", number);
}

std::string draw_compute_optima(double flops) {
  compute_optima(flops);  // checks the budget
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "role=\"img\" aria-label=\"Compute-optimal parameters and tokens over FLOPs, by five laws\">\n"
      "<style>{2}</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
      kWidth, kHeight, kStyle);
  Panel(svg, kLefts[0], flops, [](const ScalingLaw& law, double c) {
    return law.optimal_parameters(c);
  }).draw("parameters");
  Panel(svg, kLefts[1], flops, [](const ScalingLaw& law, double c) {
    return tokens_for(c, law.optimal_parameters(c));
  }).draw("training tokens");
  Panel(svg, kLefts[2], flops, [](const ScalingLaw& law, double c) {
    return tokens_for(c, law.optimal_parameters(c)) / law.optimal_parameters(c);
  }).draw("tokens per parameter");
  draw_legend(svg);
  return svg + "</svg>\n";
}

void write_compute_optima_chart(double flops, const std::string& file) { write_file(file, draw_compute_optima(flops)); }

}  // namespace heed
