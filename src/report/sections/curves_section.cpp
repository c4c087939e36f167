#include <algorithm>
#include <cmath>

#include "report/run/task_metrics.h"
#include "report/sections/sections.h"

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
  const TaskMetrics task = task_metrics(content.model);
  if (metrics.validation.empty()) {
    return;
  }
  page.add(
      "<details class=\"table\"><summary>Table of {}</summary>\n<div class=\"scroll\"><table>\n<thead><tr>"
      "<th scope=\"col\">Update</th><th scope=\"col\">Loss, {}</th>{}",
      counted(static_cast<int64_t>(metrics.validation.size()), "validation"), task.loss_unit,
      task.has_perplexity ? "<th scope=\"col\">Perplexity</th>" : "");
  for (const Metric& metric : task.metrics) {
    page.add("<th scope=\"col\">{}</th>", metric.name);
  }
  page.add("<th scope=\"col\">After</th><th scope=\"col\"></th></tr></thead>\n<tbody>\n");
  for (const ValidationPoint& point : metrics.validation) {
    page.add("<tr><td>{}</td><td>{}</td>", grouped(point.update), number_or_dash(point.loss, 4));
    if (task.has_perplexity) {
      page.add("<td>{}</td>", number_or_dash(std::exp(point.loss), 3));
    }
    for (const Metric& metric : task.metrics) {
      page.add("<td>{}</td>", number_or_dash(point.score(metric.key), metric.digits));
    }
    page.add("<td>{}</td><td>{}</td></tr>\n", std::isfinite(point.seconds) ? duration(point.seconds) : "–",
             point.best ? "best so far" : "");
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
  const TaskMetrics task = task_metrics(content.model);
  chart(page, "loss", "Loss", task.loss_unit);
  for (const Metric& metric : task.metrics) {
    chart(page, metric.key, fmt::format("Validation: {}", metric.name), metric.unit);
  }
  if (is_smoothed(*content.metrics)) {
    chart(page, "kl", "KL divergence", fmt::format("of the smoothed targets from the model, {}", task.loss_unit));
  }
  chart(page, "learning_rate", "Learning rate", "per update");
  chart(page, "throughput", "Throughput", fmt::format("{} per second", task.targets));
  chart(page, "gradient_norm", "Gradient norm", "before clipping");
  chart(page, "memory", "Peak memory", "of the process so far");
  page.add("</div>\n");
  validations(page, content);
  page.add("</section>\n");
}

}  // namespace heed
