#include <algorithm>
#include <cmath>
#include <numeric>

#include "report/sections/sections.h"

namespace heed {
namespace {

constexpr double kFullSurprisal = 8.0;  // nats

enum class Maps : uint8_t { drawn, too_large };

// A piece as text on a page: spaces are spaces again, and line breaks are both shown and made.
std::string shown_piece(std::string_view piece) {
  std::string text(piece);
  const auto replace_all = [&](std::string_view from, std::string_view to) {
    for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
      text.replace(at, from.size(), to);
    }
  };
  replace_all("\u2581", " ");
  replace_all("<U+000A>", "\u21B5\n");
  return text;
}

void attention_maps(Html& page, size_t index, Maps maps) {
  if (maps == Maps::too_large) {
    page.add("<p class=\"empty\">Too long for a map of its attention.</p>\n</article>\n");
    return;
  }
  page.add(
      "<details class=\"maps needs-script\" data-sample=\"{}\"{}><summary>Attention maps</summary><div></div>"
      "</details>\n</article>\n",
      index, index == 0 ? " open" : "");
}

void add_sample(Html& page, const ReportContent& content, size_t index) {
  const TranslatedSample& s = content.samples[index];
  page.add(
      "<article class=\"sample\">\n<h3>Sample {}</h3>\n<dl>\n<dt>Source</dt><dd dir=\"auto\">{}</dd>\n"
      "<dt>Translation</dt><dd dir=\"auto\">{}</dd>\n",
      index + 1, escape_html(s.line.source), s.translation.empty() ? "<em>empty</em>" : escape_html(s.translation));
  if (!s.line.reference.empty()) {
    page.add("<dt>Reference</dt><dd dir=\"auto\">{}</dd>\n", escape_html(s.line.reference));
  }
  page.add("<dt>Tokens</dt><dd class=\"tokens\">");
  for (size_t t = 0; t < s.target_tokens.size(); ++t) {
    const double probability = std::exp(s.log_probabilities[t]);
    page.add("<span style=\"--doubt:{:.2f}\" title=\"probability {:.3f}\">{}</span> ", 1.0 - probability, probability,
             escape_html(s.target_tokens[t]));
  }
  page.add("</dd>\n</dl>\n");
  attention_maps(page, index, s.maps.cross.empty() ? Maps::too_large : Maps::drawn);
}

void add_passage(Html& page, const ReportContent& content, size_t index) {
  const Passage& p = content.passages[index];
  const double sum = std::accumulate(p.log_probabilities.begin(), p.log_probabilities.end(), 0.0);
  page.add("<article class=\"sample\">\n<h3>Passage {}, {}: {} nats per token</h3>\n<p class=\"passage\" dir=\"auto\">",
           index + 1, escape_html(p.where),
           number_or_dash(-sum / static_cast<double>(std::max<size_t>(1, p.log_probabilities.size())), 3));
  page.add("<span class=\"given\">{}</span>", escape_html(shown_piece(p.fed_tokens.front())));
  for (size_t t = 0; t < p.expected_tokens.size(); ++t) {
    const double surprisal = -p.log_probabilities[t];
    page.add("<span style=\"--surprisal:{:.2f}\" title=\"{:.2f} nats, probability {:.3f}\">{}</span>",
             std::clamp(surprisal / kFullSurprisal, 0.0, 1.0), surprisal, std::exp(-surprisal),
             escape_html(shown_piece(p.expected_tokens[t])));
  }
  page.add("</p>\n");
  attention_maps(page, index, p.maps.empty() ? Maps::too_large : Maps::drawn);
}

}  // namespace

void write_samples(Html& page, const ReportContent& content) {
  page.add("<section id=\"samples\">\n<h2>Samples and attention</h2>\n");
  if (content.samples.empty()) {
    page.add("<p class=\"empty\">No samples.</p>\n</section>\n");
    return;
  }
  page.add(
      "<p class=\"about\">Attention is that of one pass over the finished translation. A row is the step that produced "
      "its "
      "token, and a column is what that step attends to; each row adds up to 1. Tokens of a translation are underlined "
      "the "
      "more, the less sure the model was.</p>\n");
  for (size_t i = 0; i < content.samples.size(); ++i) {
    add_sample(page, content, i);
  }
  page.add("</section>\n");
}

void write_encoder_texts(Html& page, const ReportContent& content) {
  page.add("<section id=\"samples\">\n<h2>Texts and attention</h2>\n");
  if (content.texts.empty()) {
    page.add("<p class=\"empty\">No texts.</p>\n</section>\n");
    return;
  }
  page.add(
      "<p class=\"about\">Texts as the model reads them. A row of a map is a token, and a column is what it attends "
      "to; "
      "each row adds up to 1.</p>\n");
  for (size_t i = 0; i < content.texts.size(); ++i) {
    page.add("<article class=\"sample\">\n<h3>Text {}</h3>\n<dl>\n<dt>Text</dt><dd dir=\"auto\">{}</dd>\n</dl>\n",
             i + 1, escape_html(content.texts[i].text));
    attention_maps(page, i, content.texts[i].maps.empty() ? Maps::too_large : Maps::drawn);
  }
  page.add("</section>\n");
}

// A passage's tokens, each with the colour of its surprisal.
void write_passages(Html& page, const ReportContent& content) {
  page.add("<section id=\"samples\">\n<h2>Surprisal and attention</h2>\n");
  if (content.passages.empty()) {
    page.add("<p class=\"empty\">No passages.</p>\n</section>\n");
    return;
  }
  page.add(
      "<p class=\"about\">Passages of the validation text, as the model reads them. The deeper a token's colour, the "
      "less the model expected it: full at {:.0f} nats, a probability of {:.1g}. In the maps, a row is the step that "
      "predicts its token, and a column is what that step attends to; each row adds up to 1.</p>\n",
      kFullSurprisal, std::exp(-kFullSurprisal));
  for (size_t i = 0; i < content.passages.size(); ++i) {
    add_passage(page, content, i);
  }
  page.add("</section>\n");
}

// The model's samples at each validation, the newest first.
void write_texts(Html& page, const ReportContent& content) {
  page.add("<section id=\"written\">\n<h2>Samples at validations</h2>\n");
  bool any = false;
  std::vector<ValidationPoint> newest_first;
  if (content.metrics) {
    const std::vector<ValidationPoint>& all = content.metrics->validation;
    newest_first.assign(all.rbegin(), all.rend());
  }
  for (const ValidationPoint& point : newest_first) {
    if (point.samples.empty()) {
      continue;
    }
    page.add("<details class=\"table\"{}><summary>Update {}, loss {}</summary>\n", any ? "" : " open",
             grouped(point.update), number_or_dash(point.loss, 3));
    for (const Sample& sample : point.samples) {
      page.add("<p class=\"written\" dir=\"auto\"><b>{}</b>{}</p>\n", escape_html(sample.prompt),
               escape_html(sample.text));
    }
    page.add("</details>\n");
    any = true;
  }
  page.add("{}</section>\n", any ? "" : "<p class=\"empty\">No samples in metrics.jsonl.</p>\n");
}

}  // namespace heed
