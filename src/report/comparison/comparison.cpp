#include "report/comparison/comparison.h"

#include <algorithm>
#include <map>

#include "report/page.h"
#include "report/web_assets.h"

namespace heed {
namespace {

constexpr size_t kColors = 8;

void compared_chart(Html& page, std::string_view key, std::string_view title, std::string_view unit) {
  page.add(
      "<figure class=\"chart\" data-chart=\"{}\">\n<figcaption><h3>{}</h3><span class=\"unit\">{}</span>"
      "</figcaption>\n<ul class=\"legend\"></ul>\n<svg></svg>\n</figure>\n",
      key, title, unit);
}

}  // namespace

void begin_comparison(Html& page, const PageHead& head) {
  page.add(page_head());
  page.add(
      "<title>{}</title>\n<style>{}</style>\n<noscript><style>.needs-script {{ display: none; }}</style></noscript>\n"
      "</head>\n<body>\n<header>\n<p class=\"kicker\">{}</p>\n<h1>{}</h1>\n<p class=\"lead\">{}</p>\n</header>\n"
      "<main>\n",
      escape_html(head.title), web_asset("report/report.css"), head.kicker, escape_html(head.title),
      escape_html(head.lead));
}

void end_comparison(Html& page, std::span<const ComparedRun> runs, const TaskMetrics& task) {
  page.add("</main>\n<script type=\"application/json\" id=\"data\">");
  page.add(comparison_data(runs, task));
  page.add("</script>\n<script>");
  for (const char* const script : {"shared/drawing.js", "report/common.js", "report/charts.js"}) {
    page.add(web_asset(script));
  }
  page.add("</script>\n</body>\n</html>\n");
}

void write_compared_curves(Html& page, const TaskMetrics& task) {
  page.add(
      "<section id=\"curves\">\n<h2>Curves</h2>\n"
      "<noscript><p class=\"empty\">The curves are drawn by a script, which is switched off here.</p></noscript>\n"
      "<div class=\"controls needs-script\">\n<fieldset><legend>Over</legend>"
      "<label><input type=\"radio\" name=\"over\" value=\"update\" checked>updates</label>"
      "<label><input type=\"radio\" name=\"over\" value=\"epoch\">epochs</label>"
      "<label><input type=\"radio\" name=\"over\" value=\"seconds\">time</label></fieldset>\n"
      "<label><input type=\"checkbox\" id=\"logarithmic\">logarithmic loss</label>\n"
      "<p class=\"hint\">Point at a curve for its values, or focus it and use the arrow keys.</p>\n</div>\n"
      "<div class=\"charts needs-script\">\n");
  compared_chart(page, "loss", "Validation loss", task.loss_unit);
  for (const Metric& metric : task.metrics) {
    compared_chart(page, metric.key, fmt::format("Validation: {}", metric.name), metric.unit);
  }
  compared_chart(page, "training", "Training loss", fmt::format("{}, not smoothed", task.loss_unit));
  compared_chart(page, "learning_rate", "Learning rate", "per update");
  compared_chart(page, "throughput", "Throughput", fmt::format("{} per second", task.targets));
  page.add("</div>\n</section>\n");
}

std::string mark_of_run(size_t run) { return fmt::format("<i style=\"color: var(--run-{})\"></i>", run % kColors); }

std::vector<ComparedSetting> differing_settings(std::span<const Recipe> recipes) {
  std::vector<ComparedSetting> all;
  std::map<std::string, size_t> places;
  for (size_t i = 0; i < recipes.size(); ++i) {
    Recipe recipe = recipes[i];
    for (const SettingTable& table : recipe_settings(recipe)) {
      for (const Setting& setting : table.settings) {
        const auto [place, is_new] = places.try_emplace(table.name + "." + setting.name, all.size());
        if (is_new) {
          all.push_back({place->first, std::vector<std::string>(recipes.size(), "-")});
        }
        all[place->second].values[i] = setting.show();
      }
    }
  }
  std::erase_if(all, [](const ComparedSetting& one) {
    return std::ranges::all_of(one.values, [&](const std::string& value) { return value == one.values.front(); });
  });
  return all;
}

void write_differing_settings(Html& page, std::span<const ComparedSetting> settings,
                              std::span<const std::string> names) {
  page.add("<section id=\"settings\">\n<h2>Settings that differ</h2>\n");
  if (settings.empty()) {
    page.add("<p class=\"empty\">All are the same.</p>\n</section>\n");
    return;
  }
  page.add("<div class=\"table compared\"><div class=\"scroll\"><table>\n<thead><tr><th scope=\"col\"></th>");
  for (size_t i = 0; i < names.size(); ++i) {
    page.add("<th scope=\"col\">{}{}</th>", mark_of_run(i), escape_html(names[i]));
  }
  page.add("</tr></thead>\n<tbody>\n");
  for (const ComparedSetting& setting : settings) {
    page.add("<tr><th scope=\"row\">{}</th>", escape_html(setting.key));
    for (const std::string& value : setting.values) {
      page.add("<td>{}</td>", escape_html(value));
    }
    page.add("</tr>\n");
  }
  page.add("</tbody></table></div></div>\n</section>\n");
}

}  // namespace heed
