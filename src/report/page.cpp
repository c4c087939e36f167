#include "report/page.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/median.h"
#include "report/figures/html.h"
#include "report/run/task_metrics.h"
#include "report/sections/sections.h"
#include "report/web_assets.h"

namespace heed {
namespace {

// The browser fetches nothing, whatever is on the page.
constexpr std::string_view kHead = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:">
)";

// The median: the slow first updates would distort a mean.
double median_throughput(const RunMetrics& metrics) {
  std::vector<double> rates;
  for (const TrainPoint& point : metrics.train) {
    if (std::isfinite(point.target_tokens_per_second)) {
      rates.push_back(point.target_tokens_per_second);
    }
  }
  return rates.empty() ? std::nan("") : median(std::move(rates));
}

std::string architecture(const ModelConfig& model) {
  const std::string width = fmt::format("model {}, {}", model.model, counted(model.heads, "head"));
  switch (model.architecture) {
    case Architecture::seq2seq:
      return fmt::format("Encoder-decoder, {} + {} layers, {}", model.encoder_layers, model.decoder_layers, width);
    case Architecture::causal_lm:
      return fmt::format("Decoder-only, {}, {}", counted(model.decoder_layers, "layer"), width);
    default:
      return fmt::format("Encoder-only, {}, {}", counted(model.encoder_layers, "layer"), width);
  }
}

std::string describe_run(const RunMetrics& metrics) {
  std::string words;
  if (!metrics.precision.empty()) {
    words += fmt::format("trained in {} on {}", metrics.precision, counted(metrics.threads, "thread"));
    words += metrics.layout.empty() ? "" : fmt::format(" of each rank ({})", metrics.layout);
  }
  if (metrics.started > 0.0 && metrics.started < 1e11) {
    const auto time = static_cast<std::time_t>(metrics.started);
    words += fmt::format("{}started {:%Y-%m-%d %H:%M} UTC", words.empty() ? "" : ", ", fmt::gmtime(time));
  }
  return words;
}

// To what shows text, which depends on the architecture.
std::string_view links_to_texts(const ReportContent& content) {
  if (is_language_model(content)) {
    return "<a href=\"#written\">Written</a><a href=\"#samples\">Surprisal and attention</a>";
  }
  if (content.model.architecture != Architecture::encoder) {
    return "<a href=\"#samples\">Samples and attention</a>";
  }
  return labeled_validation(content) != nullptr
             ? "<a href=\"#labels\">Labels</a><a href=\"#samples\">Texts and attention</a>"
             : "<a href=\"#samples\">Texts and attention</a>";
}

void header(Html& page, const ReportContent& content) {
  const std::string run = content.metrics ? describe_run(*content.metrics) : "";
  page.add("<header>\n<p class=\"kicker\">heed training report</p>\n<h1>{}</h1>\n<p class=\"lead\">{}{}{}</p>\n",
           escape_html(content.name), architecture(content.model), run.empty() ? "" : "; ", escape_html(run));
  page.add(
      "<nav aria-label=\"Sections\"><a href=\"#curves\">Curves</a>{}"
      "<a href=\"#heads\">Heads</a><a href=\"#architecture\">Architecture</a>"
      "<a href=\"#positions\">Positions</a><a href=\"#configuration\">Configuration</a></nav>\n</header>\n",
      links_to_texts(content));
}

void figure(Html& page, std::string_view name, const std::string& value, const std::string& detail) {
  page.add("<div><dt>{}</dt><dd>{}<small>{}</small></dd></div>\n", name, escape_html(value), escape_html(detail));
}

void loss_figure(Html& page, std::string_view name, const ValidationPoint& point, const TaskMetrics& task) {
  figure(page, name, number_or_dash(point.loss, 3),
         std::string(task.loss_unit) +
             (task.has_perplexity ? ", perplexity " + number_or_dash(std::exp(point.loss), 2) : "") + ", at update " +
             grouped(point.update));
}

// BLEU has a highest value of its own, whatever checkpoints are compared by.
void bleu_figure(Html& page, const RunMetrics& metrics) {
  const auto highest = std::ranges::max_element(metrics.validation, {}, [](const ValidationPoint& point) {
    return std::isfinite(point.score("bleu")) ? point.score("bleu") : -1.0;
  });
  if (highest != metrics.validation.end() && std::isfinite(highest->score("bleu"))) {
    figure(page, "Highest validation BLEU", number_or_dash(highest->score("bleu"), 1),
           "at update " + grouped(highest->update));
  }
}

// Figures of the best validation; what it was chosen by comes first.
void validation_figures(Html& page, const RunMetrics& metrics, const TaskMetrics& task) {
  const bool by_loss = task.compared_by == TaskMetrics::ComparedBy::loss;
  bleu_figure(page, metrics);
  const ValidationPoint* const best = by_loss ? metrics.with_lowest_loss() : metrics.best();
  if (best == nullptr) {
    return;
  }
  if (by_loss) {
    loss_figure(page, "Best validation loss", *best, task);
  }
  for (const Metric& metric : task.metrics) {
    const bool chooses = !by_loss && &metric == &task.metrics.front();
    if (const double value = best->score(metric.key); std::isfinite(value) && metric.key != "bleu") {
      figure(page, chooses ? fmt::format("Best validation: {}", metric.name) : std::string(metric.name),
             number_or_dash(value, std::min(metric.digits, 3)),
             fmt::format("{}, {}", metric.unit, chooses ? "at update " + grouped(best->update) : "at that validation"));
    }
  }
  if (!by_loss) {
    loss_figure(page, "Validation loss", *best, task);
  }
}

void run_figures(Html& page, const RunMetrics& metrics, const TaskMetrics& task) {
  validation_figures(page, metrics, task);
  const double epoch = metrics.train.empty() ? std::nan("") : metrics.train.back().epoch;
  figure(page, "Updates", grouped(metrics.updates()),
         (std::isfinite(epoch) ? fmt::format("{:.1f} epochs", epoch) : std::string()) +
             (metrics.train_sentences > 0 ? " of " + counted(metrics.train_sentences, "sentence")
              : metrics.train_texts > 0
                  ? " of " + counted(metrics.train_texts, task.targets == "words" ? "sentence" : "text")
              : metrics.train_tokens > 0 ? " of " + counted(metrics.train_tokens, "token")
                                         : ""));
  figure(page, "Training time", duration(metrics.seconds),
         metrics.end_reason.empty() ? "no end in the log: still running, or interrupted"
                                    : "ended by " + metrics.end_reason);
  if (const double rate = median_throughput(metrics); std::isfinite(rate)) {
    figure(page, "Throughput", grouped(std::llround(rate)), fmt::format("{} a second, median", task.targets));
  }
  if (!metrics.train.empty() && std::isfinite(metrics.train.back().peak_memory_bytes)) {
    figure(page, "Peak memory", fmt::format("{:.0f} MB", metrics.train.back().peak_memory_bytes / 1e6), "of training");
  }
}

// What a rounded count was, where it is rounded.
std::string exact_count(int64_t count) { return short_count(count) == grouped(count) ? "" : grouped(count); }

void figures(Html& page, const ReportContent& content) {
  page.add("<dl class=\"figures\">\n");
  figure(page, "Parameters", short_count(content.parameters), exact_count(content.parameters));
  if (content.metrics && content.metrics->trained_parameters > 0 &&
      content.metrics->trained_parameters < content.metrics->parameters) {
    const std::string exact = exact_count(content.metrics->trained_parameters);
    figure(page, "Trained", short_count(content.metrics->trained_parameters),
           (exact.empty() ? "" : exact + " parameters; ") + "the others are frozen");
  }
  if (content.adapter) {
    figure(
        page, "Adapter", fmt::format("rank {}", content.adapter->rank),
        fmt::format("alpha {}, {}, base {}", content.adapter->alpha,
                    counted(std::ssize(content.adapter->matrices), "adapted weight"), content.adapter->base.string()));
  }
  if (content.metrics) {
    run_figures(page, *content.metrics, task_metrics(content.model));
  }
  page.add("</dl>\n");
}

void notes(Html& page, const ReportContent& content) {
  if (content.notes.empty()) {
    return;
  }
  page.add("<ul class=\"notes\" aria-label=\"Notes\">\n");
  for (const std::string& note : content.notes) {
    page.add("<li>{}</li>\n", escape_html(note));
  }
  page.add("</ul>\n");
}

}  // namespace

std::string_view page_head() { return kHead; }

bool is_language_model(const ReportContent& content) { return content.model.architecture == Architecture::causal_lm; }

std::string report_page(const ReportContent& content) {
  Html page;
  page.add(kHead);
  page.add(
      "<title>{}: training report</title>\n<style>{}</style>\n"
      "<noscript><style>.needs-script {{ display: none; }}</style></noscript>\n</head>\n<body>\n",
      escape_html(content.name), web_asset("report/report.css"));
  header(page, content);
  page.add("<main>\n");
  figures(page, content);
  notes(page, content);
  write_curves(page, content);
  if (is_language_model(content)) {
    write_texts(page, content);
    write_passages(page, content);
  } else if (content.model.architecture == Architecture::encoder) {
    if (labeled_validation(content) != nullptr) {
      write_labels(page, content);
    }
    write_encoder_texts(page, content);
  } else {
    write_samples(page, content);
  }
  write_heads(page, content);
  write_architecture(page, content);
  write_positions(page, content);
  write_configuration(page, content);
  page.add("</main>\n<script type=\"application/json\" id=\"data\">");
  page.add(report_data(content));
  page.add("</script>\n<script>");
  for (const char* const script :
       {"shared/drawing.js", "report/common.js", "report/charts.js", "report/maps.js", "report/sort.js"}) {
    page.add(web_asset(script));
  }
  page.add("</script>\n</body>\n</html>\n");
  return page.take();
}

}  // namespace heed
