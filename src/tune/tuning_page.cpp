#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/system/files.h"
#include "report/comparison/comparison.h"
#include "tune/tuning_result.h"
#include "tune/tuning_table.h"

namespace heed {
namespace {

std::string outcome_of(const Trial& trial) {
  return !trial.failure.empty()  ? "failed"
         : trial.reached() < 1.0 ? fmt::format("stopped at {:g}", trial.reached())
                                 : "whole";
}

void trials_table(Html& page, const TuningState& state, size_t chosen) {
  const std::string by = shown_score(state);
  page.add(
      "<section id=\"trials\">\n<h2>Trials</h2>\n<div class=\"table compared\"><div "
      "class=\"scroll\"><table>\n<thead><tr>"
      "<th scope=\"col\">Trial</th><th scope=\"col\" class=\"words\">Settings</th><th scope=\"col\">Seed</th>"
      "<th scope=\"col\">Run</th><th scope=\"col\">Updates</th><th scope=\"col\">Minutes</th>"
      "<th scope=\"col\">Loss</th>{}</tr></thead>\n<tbody>\n",
      by == "loss" ? "" : fmt::format("<th scope=\"col\">{}</th>", escape_html(by)));
  for (size_t i = 0; i < state.trials.size(); ++i) {
    const Trial& trial = state.trials[i];
    const Leg last = trial.legs.empty() ? Leg{.value = std::nan(""), .loss = std::nan("")} : trial.legs.back();
    page.add(
        "<tr{}><th scope=\"row\">{}{}</th><td class=\"words\">{}</td><td>{}</td><td>{}</td><td>{}</td><td>{:.1f}</td>"
        "<td>{}</td>",
        i == chosen ? " class=\"best\"" : "", mark_of_run(i), i, escape_html(describe(trial.changes)), trial.seed,
        outcome_of(trial), grouped(trial.updates), trial.seconds / 60.0, number_or_dash(last.loss, 4));
    if (by != "loss") {
      const auto score = std::ranges::find(last.others, by, &NamedScore::name);
      page.add("<td>{}</td>", number_or_dash(score == last.others.end() ? std::nan("") : score->value, 4));
    }
    page.add("</tr>\n");
  }
  page.add("</tbody></table></div></div>\n</section>\n");
}

void range_table(Html& page, const TuningState& state) {
  constexpr size_t kEvery = 8;
  page.add(
      "<section id=\"rates\">\n<h2>Range test of the learning rate</h2>\n<p class=\"about\">{}</p>\n",
      state.rates.suggested > 0.0
          ? fmt::format("The smoothed loss falls most steeply at a rate of {:.2g}, which is tried as a peak, is lowest "
                        "at {:.2g}, and rises from {:.2g} on, if at all.",
                        state.rates.suggested, state.rates.lowest, state.rates.highest)
          : "The loss hardly fell: the test suggests no peak.");
  page.add(
      "<details class=\"table compared\"><summary>Table</summary><div class=\"scroll\"><table>\n<thead><tr>"
      "<th scope=\"col\">Update</th><th scope=\"col\">Rate</th><th scope=\"col\">Loss</th></tr></thead>\n<tbody>\n");
  for (size_t i = 0; i < state.points.size(); i += kEvery) {
    page.add("<tr><td>{}</td><td>{:.2e}</td><td>{}</td></tr>\n", i + 1, state.points[i].rate,
             number_or_dash(state.points[i].loss, 4));
  }
  page.add("</tbody></table></div></details>\n</section>\n");
}

std::vector<ComparedRun> compared_runs(const TuningState& state, const TuningFolder& folder) {
  std::vector<ComparedRun> runs;
  for (size_t i = 0; i < state.trials.size(); ++i) {
    const std::filesystem::path log = ModelFolder{folder.run(i)}.metrics();
    RunMetrics metrics = std::filesystem::exists(log) ? parse_metrics(read_file(log), log.string()) : RunMetrics{};
    runs.push_back({fmt::format("trial {}", i), std::move(metrics)});
  }
  return runs;
}

}  // namespace

std::string tuning_page(const Tuning& tuning, const TuneOptions& options, const std::vector<std::string>& remarks) {
  const TuningState& state = tuning.state();
  const TaskMetrics task = task_metrics(parse_recipe(state.recipe, options.recipe, {}).model);
  const std::vector<ComparedRun> runs = compared_runs(state, TuningFolder{options.output});
  Html page;
  begin_comparison(page,
                   {.kicker = "heed tune",
                    .title = std::filesystem::path(options.recipe).filename().string(),
                    .lead = fmt::format("{} trials in {:.0f} minutes", state.trials.size(), state.seconds() / 60.0)});
  page.add("<ul class=\"notes\" aria-label=\"Conclusions\">\n");
  for (const std::string& remark : remarks) {
    page.add("<li>{}</li>\n", escape_html(remark));
  }
  for (const std::string& note : state.notes) {
    page.add("<li>{}</li>\n", escape_html(note));
  }
  page.add("</ul>\n");
  trials_table(page, state, chosen_trial(tuning));
  write_compared_curves(page, task);
  range_table(page, state);
  end_comparison(page, runs, task);
  return page.take();
}

}  // namespace heed
