#include <algorithm>
#include <cmath>

#include "report/sections.h"

namespace heed {
namespace {

// Without label smoothing the divergence is the loss.
bool is_smoothed(const RunMetrics& metrics) {
  return std::ranges::any_of(metrics.train, [](const TrainPoint& point) {
    return std::isfinite(point.kl) && std::abs(point.loss - point.kl) > 1e-9 * std::abs(point.loss);
  });
}

void chart(Html& page, std::string_view key, std::string_view title, std::string_view unit) {
  page.add(
      "<figure class=\"chart\" data-chart=\"{}\">\n<figcaption><h3>{}</h3><span class=\"unit\">{}</span>"
      "</figcaption>\n<ul class=\"legend\"></ul>\n<svg></svg>\n</figure>\n",
      key, title, unit);
}

void validations(Html& page, const ReportContent& content) {
  const RunMetrics& metrics = *content.metrics;
  if (metrics.validation.empty()) {
    return;
  }
  page.add(
      "<details class=\"table\"><summary>Table of {}</summary>\n<div class=\"scroll\"><table>\n<thead><tr>"
      "<th scope=\"col\">Update</th><th scope=\"col\">Loss, nats</th><th scope=\"col\">Perplexity</th>"
      "<th scope=\"col\">{}</th><th scope=\"col\">After</th><th scope=\"col\"></th></tr></thead>\n<tbody>\n",
      counted(static_cast<int64_t>(metrics.validation.size()), "validation"),
      is_language_model(content) ? "Bits per byte" : "BLEU");
  for (const ValidationPoint& point : metrics.validation) {
    page.add("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n", grouped(point.update),
             number_or_dash(point.loss, 4), number_or_dash(std::exp(point.loss), 3),
             is_language_model(content) ? number_or_dash(point.bits_per_byte, 4) : number_or_dash(point.bleu, 2),
             std::isfinite(point.seconds) ? duration(point.seconds) : "–", point.best ? "best so far" : "");
  }
  page.add("</tbody></table></div></details>\n");
}

}  // namespace

void write_curves(Html& page, const ReportContent& content) {
  page.add("<section id=\"curves\">\n<h2>Curves</h2>\n");
  if (!content.metrics || (content.metrics->train.empty() && content.metrics->validation.empty())) {
    page.add("<p class=\"empty\">No metrics yet.</p>\n</section>\n");
    return;
  }
  page.add(
      "<noscript><p class=\"empty\">The curves and heat maps are drawn by a script, which is switched off here. The "
      "table of validations and the translations below need none.</p></noscript>\n"
      "<div class=\"controls needs-script\">\n<fieldset><legend>Over</legend>"
      "<label><input type=\"radio\" name=\"over\" value=\"update\" checked>updates</label>"
      "<label><input type=\"radio\" name=\"over\" value=\"epoch\">epochs</label>"
      "<label><input type=\"radio\" name=\"over\" value=\"seconds\">time</label></fieldset>\n"
      "<label><input type=\"checkbox\" id=\"logarithmic\">logarithmic loss and gradient norm</label>\n"
      "<p class=\"hint\">Point at a curve for its values, or focus it and use the arrow keys.</p>\n</div>\n"
      "<div class=\"charts needs-script\">\n");
  chart(page, "loss", "Loss", "nats per token");
  chart(page, "bleu", "Validation BLEU", "0 to 100");
  chart(page, "bits_per_byte", "Validation, bits per byte", "of the text as it is stored");
  if (is_smoothed(*content.metrics)) {
    chart(page, "kl", "KL divergence", "of the smoothed targets from the model, nats per token");
  }
  chart(page, "learning_rate", "Learning rate", "per update");
  chart(page, "throughput", "Throughput", "target tokens per second");
  chart(page, "gradient_norm", "Gradient norm", "before clipping");
  chart(page, "memory", "Peak memory", "bytes, of the process so far");
  page.add("</div>\n");
  validations(page, content);
  page.add("</section>\n");
}

}  // namespace heed
