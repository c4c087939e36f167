#include <cmath>

#include "report/figures/architecture_diagram.h"
#include "report/sections/sections.h"

namespace heed {
namespace {

std::string_view describe_kind(const ReportContent& content, const std::string& kind) {
  return kind == "cross"              ? "cross-attention"
         : is_language_model(content) ? "self-attention"
         : kind == "encoder"          ? "encoder"
                                      : "decoder";
}

std::string_view describe_key(std::string_view key) {
  return key == "previous"   ? "the previous token"
         : key == "diagonal" ? "the diagonal"
         : key == "first"    ? "the first token"
                             : "the end";
}

}  // namespace

void write_architecture(Html& page, const ReportContent& content) {
  page.add(
      "<section id=\"architecture\">\n<h2>Architecture</h2>\n<p class=\"about\">From bottom to top. Dashed lines join "
      "places that use one table. In a layer, the line on the left is the residual stream.</p>\n"
      "<div class=\"diagram\">{}</div>\n</section>\n",
      architecture_diagram(content.model));
}

void write_heads(Html& page, const ReportContent& content) {
  page.add("<section id=\"heads\">\n<h2>Heads</h2>\n");
  if (content.heads.empty()) {
    page.add("<p class=\"empty\">No attention was read.</p>\n</section>\n");
    return;
  }
  page.add(
      "<p class=\"about\">Means over the rows of all samples above: the entropy of a row in nats, how many tokens lie "
      "between a query and what it attends to, and the share of its weight on single keys. The most specialized heads "
      "come first; a column's name sorts by it.</p>\n<div class=\"table\"><div class=\"scroll\"><table "
      "class=\"sortable\">\n<thead><tr>");
  for (const char* const column : {"Attention", "Layer", "Head", "Entropy", "Distance", "Previous", "Diagonal", "First",
                                   "End", "Largest share", "Mostly on"}) {
    page.add("<th scope=\"col\">{}</th>", column);
  }
  page.add("</tr></thead>\n<tbody>\n");
  for (const HeadFigures& head : content.heads) {
    page.add("<tr><td>{}</td><td>{}</td><td>{}</td>", describe_kind(content, head.kind), head.layer + 1, head.head + 1);
    for (const double value : {head.entropy, head.distance}) {
      page.add("<td>{}</td>", number_or_dash(value, 2));
    }
    for (const double share : {head.previous, head.diagonal, head.first, head.end, head.largest_share()}) {
      page.add("<td>{}</td>", number_or_dash(share, 3));
    }
    page.add("<td>{}</td></tr>\n", describe_key(head.mostly_on()));
  }
  page.add("</tbody></table></div></div>\n</section>\n");
}

}  // namespace heed
