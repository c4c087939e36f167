#include "report/quantization_page.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "models/any_model.h"
#include "report/figures/html.h"
#include "report/page.h"
#include "report/web_assets.h"

namespace heed {
namespace {

constexpr double kFullBar = 60.0;      // decibels
constexpr double kFullOutlier = 30.0;  // the largest magnitude over the root of the mean square
constexpr size_t kOutliersShown = 8;

std::string decibels(double value) { return std::isinf(value) ? "exact" : fmt::format("{:.1f}", value); }

void summary_figure(Html& page, std::string_view name, const std::string& value, const std::string& detail) {
  page.add("<div><dt>{}</dt><dd>{}<small>{}</small></dd></div>\n", escape_html(name), escape_html(value),
           escape_html(detail));
}

void summary(Html& page, const QuantizedWeights& weights) {
  page.add("<dl class=\"figures\">\n");
  summary_figure(page, "Weights", fmt::format("{:.2f} MB", static_cast<double>(weights.bytes_after) / 1e6),
                 fmt::format("of {:.2f} MB, {:.1f}%", static_cast<double>(weights.bytes_before) / 1e6,
                             100.0 * static_cast<double>(weights.bytes_after) /
                                 static_cast<double>(std::max<int64_t>(1, weights.bytes_before))));
  summary_figure(page, "Signal to noise", decibels(weights.signal_to_noise) + " dB",
                 fmt::format("of {} matrices together", weights.matrices.size()));
  for (const MeasuredChange& change : weights.changes) {
    summary_figure(
        page, change.metric, fmt::format("{:.3f}", change.after),
        fmt::format("before {:.3f}, change {:+.3f}, on {}", change.before, change.after - change.before, change.text));
  }
  page.add("</dl>\n");
}

// A cell with a bar behind its number.
void bar_cell(Html& page, double share, const std::string& text) {
  page.add("<td class=\"bar\" style=\"--share: {:.3f}\">{}</td>", std::clamp(share, 0.0, 1.0), text);
}

void decibel_cell(Html& page, const std::optional<double>& value) {
  if (!value) {
    page.add("<td>–</td>");
    return;
  }
  bar_cell(page, std::isinf(*value) ? 1.0 : *value / kFullBar, decibels(*value));
}

void outlier_cell(Html& page, const std::optional<double>& value) {
  if (!value) {
    page.add("<td>–</td>");
    return;
  }
  bar_cell(page, *value / kFullOutlier, fmt::format("{:.1f}", *value));
}

// The lowest ratios of a layer's matrices.
struct LayerRatios {
  std::string name;
  double weights = 0.0;
  std::optional<double> products;
};

std::vector<LayerRatios> ratios_of_layers(const std::vector<QuantizedMatrix>& matrices) {
  std::vector<LayerRatios> layers;
  for (const QuantizedMatrix& matrix : matrices) {
    auto it = std::ranges::find(layers, matrix.layer, &LayerRatios::name);
    if (it == layers.end()) {
      it = layers.insert(layers.end(), {matrix.layer, matrix.signal_to_noise, {}});
    }
    it->weights = std::min(it->weights, matrix.signal_to_noise);
    if (matrix.product_signal_to_noise) {
      it->products = std::min(it->products.value_or(*matrix.product_signal_to_noise), *matrix.product_signal_to_noise);
    }
  }
  return layers;
}

void write_layers(Html& page, const QuantizedWeights& weights) {
  page.add(
      "<section id=\"layers\">\n<h2>Signal to noise by layer</h2>\n<p class=\"about\">In decibels, the lowest of each "
      "layer's matrices: of their values, and of what they make of the calibration text. A full bar is {:.0f} dB.</p>\n"
      "<div class=\"table bars\"><div class=\"scroll\"><table><thead><tr><th scope=\"col\">layer</th>"
      "<th scope=\"col\">weights</th><th scope=\"col\">products</th></tr></thead><tbody>\n",
      kFullBar);
  for (const LayerRatios& layer : ratios_of_layers(weights.matrices)) {
    page.add("<tr><th scope=\"row\">{}</th>", escape_html(layer.name));
    decibel_cell(page, layer.weights);
    decibel_cell(page, layer.products);
    page.add("</tr>\n");
  }
  page.add("</tbody></table></div></div>\n</section>\n");
}

std::string treatment(const QuantizedMatrix& matrix) {
  std::string words = matrix.range.empty() ? "" : "range by " + matrix.range;
  if (matrix.smoothed == Smoothed::yes) {
    words += ", smoothed";
  }
  if (matrix.compensated == Compensated::yes) {
    words += "compensated";
  }
  return words;
}

void write_matrices(Html& page, const QuantizedWeights& weights) {
  page.add(
      "<section id=\"matrices\">\n<h2>Matrices</h2>\n<div class=\"table bars\"><div class=\"scroll\"><table><thead><tr>"
      "<th scope=\"col\">matrix</th><th scope=\"col\">type</th><th scope=\"col\">bytes</th>"
      "<th scope=\"col\">weights, dB</th><th scope=\"col\">product, dB</th><th scope=\"col\">largest weight</th>"
      "<th scope=\"col\">largest input</th><th scope=\"col\"></th></tr></thead><tbody>\n");
  for (const QuantizedMatrix& matrix : weights.matrices) {
    page.add("<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td>", escape_html(matrix.name), name_of(matrix.type),
             grouped(matrix.bytes));
    decibel_cell(page, matrix.signal_to_noise);
    decibel_cell(page, matrix.product_signal_to_noise);
    outlier_cell(page, matrix.largest_over_rms);
    outlier_cell(page, matrix.input_largest_over_rms);
    page.add("<td>{}</td></tr>\n", treatment(matrix));
  }
  page.add(
      "</tbody></table></div></div>\n<p class=\"hint\">The largest weight and the largest input are magnitudes over "
      "the "
      "root of the mean square.</p>\n</section>\n");
}

struct Outlier {
  std::string what;
  double ratio;
};

void write_outliers(Html& page, const QuantizedWeights& weights) {
  std::vector<Outlier> outliers;
  for (const QuantizedMatrix& matrix : weights.matrices) {
    outliers.push_back({"weights of " + matrix.name, matrix.largest_over_rms});
    if (matrix.input_largest_over_rms) {
      outliers.push_back({"inputs of " + matrix.name, *matrix.input_largest_over_rms});
    }
  }
  std::ranges::stable_sort(outliers, std::ranges::greater{}, &Outlier::ratio);
  outliers.resize(std::min(outliers.size(), kOutliersShown));
  page.add(
      "<section id=\"outliers\">\n<h2>Outliers</h2>\n<p class=\"about\">Where one magnitude is largest against the "
      "root "
      "of the mean square. It makes the steps of all that share its scale coarse.</p>\n"
      "<div class=\"table bars\"><div class=\"scroll\"><table><tbody>\n");
  for (const Outlier& outlier : outliers) {
    page.add("<tr><th scope=\"row\">{}</th>", escape_html(outlier.what));
    outlier_cell(page, outlier.ratio);
    page.add("</tr>\n");
  }
  page.add("</tbody></table></div></div>\n</section>\n");
}

}  // namespace

std::string quantization_page(const QuantizationContent& content) {
  Html page;
  page.add(page_head());
  page.add("<title>{}: quantization report</title>\n<style>{}</style>\n</head>\n<body>\n", escape_html(content.name),
           web_asset("report/report.css"));
  page.add(
      "<header>\n<p class=\"kicker\">heed quantization report</p>\n<h1>{}</h1>\n<p class=\"lead\">{} in {}</p>\n"
      "<nav aria-label=\"Sections\"><a href=\"#layers\">Layers</a><a href=\"#outliers\">Outliers</a>"
      "<a href=\"#matrices\">Matrices</a></nav>\n</header>\n<main>\n",
      escape_html(content.name), describe(content.model.architecture), name_of(content.type));
  summary(page, content.weights);
  write_layers(page, content.weights);
  write_outliers(page, content.weights);
  write_matrices(page, content.weights);
  page.add("</main>\n</body>\n</html>\n");
  return page.take();
}

}  // namespace heed
