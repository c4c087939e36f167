#include "report/sections/sections.h"

namespace heed {
namespace {

// A cell's shade is its share of the texts or words where the row's label was expected.
void add_label_row(Html& page, const LabelFigures& label) {
  page.add("<tr><th scope=\"row\" dir=\"auto\">{}</th>", escape_html(label.label));
  for (const int64_t count : label.predicted_as) {
    const double share = label.expected == 0 ? 0.0 : static_cast<double>(count) / static_cast<double>(label.expected);
    page.add("<td style=\"--share: {:.3f}\">{}</td>", share, grouped(count));
  }
  page.add("<td>{}</td><td>{}</td><td>{:.3f}</td><td>{:.3f}</td><td>{:.3f}</td></tr>\n", grouped(label.expected),
           grouped(label.predicted), label.precision(), label.recall(), label.f1());
}

}  // namespace

const ValidationPoint* labeled_validation(const ReportContent& content) {
  const ValidationPoint* const best = content.metrics ? content.metrics->best() : nullptr;
  return best == nullptr || best->labels.empty() ? nullptr : best;
}

void write_labels(Html& page, const ReportContent& content) {
  const ValidationPoint& validation = *labeled_validation(content);
  const bool has_matrix = !validation.labels.front().predicted_as.empty();
  page.add("<section id=\"labels\">\n<h2>Labels</h2>\n<p class=\"about\">The validation text at update {}{}.</p>\n",
           grouped(validation.update),
           has_matrix ? ", counted: a row for each label that was expected, a column for each that was predicted" : "");
  page.add("<div class=\"table confusion\"><div class=\"scroll\"><table><thead><tr><th></th>");
  for (const LabelFigures& label : validation.labels) {
    if (has_matrix) {
      page.add("<th scope=\"col\" dir=\"auto\">{}</th>", escape_html(label.label));
    }
  }
  page.add(
      "<th scope=\"col\">expected</th><th scope=\"col\">predicted</th><th scope=\"col\">precision</th>"
      "<th scope=\"col\">recall</th><th scope=\"col\">F1</th></tr></thead><tbody>\n");
  for (const LabelFigures& label : validation.labels) {
    add_label_row(page, label);
  }
  page.add("</tbody></table></div></div>\n</section>\n");
}

}  // namespace heed
