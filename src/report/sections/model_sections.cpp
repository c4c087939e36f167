#include "report/sections/sections.h"

namespace heed {
namespace {

// Why there is no map of positions.
std::string_view without_map(const ModelConfig& config) {
  switch (config.positions) {
    case Positions::none:
      return "This model has no positions.";
    case Positions::alibi:
      return "ALiBi: each head's scores fall with distance, each with its own slope.";
    case Positions::relative_bias:
      return "A learned bias of the scores for each head and bucket of distances.";
    case Positions::relative_keys:
      return "Each layer adds a learned embedding of the distance to its keys.";
    case Positions::relative_keys_values:
      return "Each layer adds a learned embedding of the distance to its keys, and another one to its values.";
    default:
      return "No weights to read the learned positions from.";
  }
}

}  // namespace

void write_positions(Html& page, const ReportContent& content) {
  page.add("<section id=\"positions\">\n<h2>Positional encoding</h2>\n");
  if (!content.positions) {
    page.add("<p class=\"empty\">{}</p>\n</section>\n", without_map(content.model));
    return;
  }
  const PositionMap& table = *content.positions;
  std::string about = "Learned with the model";
  if (table.kind == "sinusoidal") {
    about = content.model.sinusoid == SinusoidLayout::interleaved
                ? fmt::format(
                      "sin(p / 10000<sup>c / {0}</sup>) in each even column c, the cosine of the same angle in "
                      "the next",
                      content.model.model)
                : "The sines of all frequencies, then their cosines";
  } else if (table.kind == "rotary") {
    const int64_t layer = first_rotary_layer(content.model);
    const Rotary shown = content.model.rotary(layer);
    about = fmt::format(
        "Rotary: the cosine of the angle by which pair c of each head's columns is turned, p &middot; "
        "{:g}<sup>&minus;2c / {}</sup>{}",
        shown.base, shown.dims, content.model.rotary_base.is_uniform() ? "" : fmt::format(", in layer {}", layer));
  }
  page.add(
      "<p class=\"about\">{}. The first {} positions, {} columns.</p>\n<div class=\"positions needs-script\"></div>\n"
      "</section>\n",
      about, table.positions, table.columns.size());
}

void write_configuration(Html& page, const ReportContent& content) {
  page.add(
      "<section id=\"configuration\">\n<h2>Configuration</h2>\n<p class=\"about\">Values that differ from heed's "
      "defaults stand out.</p>\n<div class=\"settings\">\n");
  for (const ConfigTable& table : content.tables) {
    page.add("<table><caption>{}</caption><tbody>\n", escape_html(table.name));
    for (const ConfigValue& value : table.values) {
      page.add("<tr{}><th scope=\"row\">{}</th><td>{}</td></tr>\n",
               value.origin == ConfigValue::Origin::chosen ? " class=\"chosen\"" : "", escape_html(value.name),
               escape_html(value.value));
    }
    page.add("</tbody></table>\n");
  }
  page.add("</div>\n</section>\n");
}

}  // namespace heed
