#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/errors.h"
#include "base/system/files.h"
#include "base/system/threads.h"
#include "checkpoint/adapter.h"
#include "heed/report.h"
#include "kernels/cpu/cpu_backend.h"
#include "report/comparison/comparison.h"
#include "report/comparison/paired_texts.h"
#include "report/run/sample_files.h"
#include "train/recipe/translation_recipe.h"
#include "train/run/run_folder.h"

namespace heed {
namespace {

constexpr size_t kMostRuns = 16;
constexpr double kChance = 0.05;  // a smaller p-value is more than chance

struct RunContent {
  ModelFolder folder;
  ModelConfig model;
  std::optional<Recipe> recipe;
  TextScores scores;
  std::vector<std::string> translations;
  int64_t parameters = 0;
};

class Comparison {
 public:
  explicit Comparison(const ComparisonOptions& options) : options_(options) { read_runs(); }

  WrittenReport write();

 private:
  void read_runs();
  void note_other_text();
  void read_texts();
  void read_text(RunContent& run, Backend& backend);
  void write_figures(Html& page) const;
  void write_chance(Html& page) const;
  void write_settings(Html& page) const;
  void write_samples(Html& page) const;
  void write_written(Html& page) const;
  std::vector<std::string> names() const;
  std::string unit() const;
  void note(std::string text) { notes_.push_back(std::move(text)); }

  const ComparisonOptions& options_;
  std::vector<RunContent> runs_;
  std::vector<ComparedRun> curves_;
  std::vector<SampleLine> lines_;
  std::vector<std::string> notes_;
};

std::string name_of_run(const ModelFolder& folder) {
  const std::filesystem::path path = std::filesystem::absolute(folder.path).lexically_normal();
  return (path.has_filename() ? path.filename() : path.parent_path().filename()).string();
}

void Comparison::read_runs() {
  for (const std::string& directory : options_.directories) {
    RunContent run{.folder = {directory}, .model = load_description({directory}).config};
    const ModelConfig& first = runs_.empty() ? run.model : runs_.front().model;
    require<ConfigError>(run.model.architecture == first.architecture && run.model.head == first.head, "report",
                         "{} is {}, but {} is {} of another kind: only models of one kind compare", directory,
                         describe(run.model.architecture), options_.directories.front(), describe(first.architecture));
    if (std::filesystem::exists(run.folder.recipe())) {
      run.recipe = recipe_of_run(run.folder);
    } else {
      note(fmt::format("{} has no recipe.toml: its settings are those of the model alone.", directory));
    }
    RunMetrics metrics;
    if (std::filesystem::exists(run.folder.metrics())) {
      metrics = parse_metrics(read_file(run.folder.metrics()), run.folder.metrics().string());
    } else {
      note(fmt::format("{} has no metrics.jsonl: it has no curves.", directory));
    }
    run.parameters = metrics.parameters;
    std::string name = name_of_run(run.folder);
    const bool is_taken = std::ranges::count(curves_, name, &ComparedRun::name) > 0;
    curves_.push_back({is_taken ? directory : name, std::move(metrics)});
    runs_.push_back(std::move(run));
  }
  const Architecture kind = runs_.front().model.architecture;
  require<ConfigError>(options_.beam == 0 || kind == Architecture::seq2seq, "report",
                       "a beam is for translations, but {} is {}: leave out --beam", options_.directories.front(),
                       describe(kind));
  require<ConfigError>(options_.source.empty() || kind != Architecture::encoder, "report",
                       "encoders are compared by the labels of their validation text: leave out --source");
  note_other_text();
}

// Curves over other text, or in tokens of another vocabulary, do not compare.
void Comparison::note_other_text() {
  for (size_t i = 1; i < runs_.size(); ++i) {
    if (!runs_[i].recipe || !runs_.front().recipe) {
      continue;
    }
    for (const RecipeDifference& difference : differences(*runs_.front().recipe, *runs_[i].recipe)) {
      if (difference.key.starts_with("data.validation")) {
        note(fmt::format("{} was validated on other text than {} ({}): their curves do not compare.", curves_[i].name,
                         curves_.front().name, difference.key));
        break;
      }
      if (difference.key.starts_with("tokenizer.") || difference.key.starts_with("model.target_vocabulary")) {
        note(fmt::format("{} has other tokens than {} ({}): losses per token do not compare.", curves_[i].name,
                         curves_.front().name, difference.key));
        break;
      }
    }
  }
}

void Comparison::read_text(RunContent& run, Backend& backend) {
  const StoredModel stored(run.folder, backend, DType::f32);
  run.parameters = stored.parameters();
  const std::optional<Recipe>& recipe = runs_.front().recipe;
  if (run.model.architecture == Architecture::seq2seq) {
    const TranslationRecipe* const own = recipe ? recipe->find<TranslationRecipe>() : nullptr;
    const TranslationValidationRecipe validation = own != nullptr ? own->validation : TranslationValidationRecipe{};
    ScoredTranslations scored =
        scored_translations(stored, backend, lines_,
                            {.beam = options_.beam > 0 ? options_.beam : validation.beam,
                             .length_penalty = validation.length_penalty,
                             .languages = own != nullptr ? own->data.languages : LanguagePair{}},
                            validation.lowercase ? LetterCase::lower : LetterCase::kept);
    run.translations = std::move(scored.texts);
    run.scores = std::move(scored.scores);
  } else if (run.model.architecture == Architecture::encoder && recipe) {
    run.scores = scored_labels(stored, backend, *recipe, options_.sentences);
  } else if (const std::optional<TextRules> text = passage_text(options_.source, recipe)) {
    run.scores = scored_windows(stored, backend, *text, options_.sentences);
  }
}

void Comparison::read_texts() {
  if (options_.sentences == 0 && options_.samples == 0) {
    return;
  }
  if (runs_.front().model.architecture == Architecture::seq2seq) {
    const SampleFiles files = sample_files(options_.source, runs_.front().recipe);
    lines_ = read_sample_lines(files.sources, files.references, std::max(options_.samples, options_.sentences));
    if (lines_.empty()) {
      return note("No sentences to translate: name a file of them with --source.");
    }
  }
  const auto backend = make_cpu_backend(thread_count(options_.threads));
  for (RunContent& run : runs_) {
    if (holds_adapter(run.folder) ? std::filesystem::exists(run.folder.adapter_weights())
                                  : std::filesystem::exists(run.folder.weights())) {
      read_text(run, *backend);
    } else {
      note(fmt::format("{} has no weights: it has curves alone.", run.folder.path.string()));
    }
  }
}

std::vector<std::string> Comparison::names() const {
  std::vector<std::string> names;
  names.reserve(curves_.size());
  for (const ComparedRun& run : curves_) {
    names.push_back(run.name);
  }
  return names;
}

std::string Comparison::unit() const {
  switch (runs_.front().model.architecture) {
    case Architecture::seq2seq:
      return "BLEU";
    case Architecture::causal_lm:
      return "nats per token, in windows";
    default:
      return "share of labels that are right";
  }
}

void Comparison::write_figures(Html& page) const {
  const TaskMetrics task = task_metrics(runs_.front().model);
  page.add(
      "<section id=\"runs\">\n<h2>Runs</h2>\n<div class=\"table compared\"><div class=\"scroll\"><table>\n<thead><tr>"
      "<th scope=\"col\">Run</th><th scope=\"col\">Parameters</th><th scope=\"col\">Updates</th>"
      "<th scope=\"col\">Time</th><th scope=\"col\">Best: update</th><th scope=\"col\">Loss</th>");
  for (const Metric& metric : task.metrics) {
    page.add("<th scope=\"col\">{}</th>", metric.name);
  }
  page.add("</tr></thead>\n<tbody>\n");
  for (size_t i = 0; i < runs_.size(); ++i) {
    const RunMetrics& metrics = curves_[i].metrics;
    const ValidationPoint none, *const found = metrics.best(), &best = found == nullptr ? none : *found;
    page.add("<tr><th scope=\"row\">{}{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>", mark_of_run(i),
             escape_html(curves_[i].name), short_count(runs_[i].parameters), grouped(metrics.updates()),
             duration(metrics.seconds), grouped(best.update), number_or_dash(best.loss, 4));
    for (const Metric& metric : task.metrics) {
      page.add("<td>{}</td>", number_or_dash(best.score(metric.key), metric.digits));
    }
    page.add("</tr>\n");
  }
  page.add("</tbody></table></div></div>\n</section>\n");
}

void Comparison::write_chance(Html& page) const {
  page.add("<section id=\"chance\">\n<h2>More than chance?</h2>\n");
  bool is_begun = false;
  for (size_t i = 1; i < runs_.size(); ++i) {
    const std::optional<PairedResult> result = paired(runs_.front().scores, runs_[i].scores);
    if (!result) {
      continue;
    }
    if (!is_begun) {
      page.add(
          "<p class=\"about\">The final models on the same texts, against the first one: {}. p is the probability of "
          "such "
          "a difference if both are equally good (paired bootstrap, 1,000 samples of the texts). It knows nothing of "
          "other seeds: two runs of one recipe may differ as well.</p>\n<div class=\"table compared\">"
          "<div class=\"scroll\"><table>\n<thead><tr><th scope=\"col\">Run</th><th scope=\"col\">{}</th>"
          "<th scope=\"col\">{}</th><th scope=\"col\">Difference</th><th scope=\"col\">p</th>"
          "<th scope=\"col\"></th></tr></thead>\n<tbody>\n",
          unit(), "Itself", escape_html(curves_.front().name));
      is_begun = true;
    }
    page.add(
        "<tr><th "
        "scope=\"row\">{}{}</th><td>{:.4f}</td><td>{:.4f}</td><td>{:+.4f}</td><td>{:.3f}</td><td>{}</td></tr>\n",
        mark_of_run(i), escape_html(curves_[i].name), result->other, result->first, result->other - result->first,
        result->p_value, result->p_value < kChance ? "more than chance" : "may be chance");
  }
  page.add(is_begun ? "</tbody></table></div></div>\n</section>\n"
                    : "<p class=\"empty\">No texts with which the models could be paired.</p>\n</section>\n");
}

void Comparison::write_settings(Html& page) const {
  std::vector<Recipe> recipes;
  for (const RunContent& run : runs_) {
    if (run.recipe) {
      recipes.push_back(*run.recipe);
      recipes.back().model = run.model;
    }
  }
  if (recipes.size() == runs_.size()) {
    write_differing_settings(page, differing_settings(recipes), names());
  }
}

void Comparison::write_samples(Html& page) const {
  const size_t count = std::min(lines_.size(), static_cast<size_t>(options_.samples));
  if (count == 0) {
    return;
  }
  page.add("<section id=\"samples\">\n<h2>Samples</h2>\n");
  for (size_t line = 0; line < count; ++line) {
    page.add("<article class=\"sample\">\n<h3>Sample {}</h3>\n<dl>\n<dt>Source</dt><dd dir=\"auto\">{}</dd>\n",
             line + 1, escape_html(lines_[line].source));
    if (!lines_[line].reference.empty()) {
      page.add("<dt>Reference</dt><dd dir=\"auto\">{}</dd>\n", escape_html(lines_[line].reference));
    }
    for (size_t i = 0; i < runs_.size(); ++i) {
      if (line < runs_[i].translations.size()) {
        page.add("<dt>{}{}</dt><dd dir=\"auto\">{}</dd>\n", mark_of_run(i), escape_html(curves_[i].name),
                 escape_html(runs_[i].translations[line]));
      }
    }
    page.add("</dl>\n</article>\n");
  }
  page.add("</section>\n");
}

// What the runs wrote at their best validation, from the same prompts.
void Comparison::write_written(Html& page) const {
  const auto has_samples = [](const ComparedRun& run) {
    return run.metrics.best() != nullptr && !run.metrics.best()->samples.empty();
  };
  if (options_.samples == 0 || std::ranges::none_of(curves_, has_samples)) {
    return;
  }
  page.add("<section id=\"written\">\n<h2>Written at the best validation</h2>\n");
  for (size_t i = 0; i < curves_.size(); ++i) {
    if (has_samples(curves_[i])) {
      for (const Sample& sample : curves_[i].metrics.best()->samples) {
        page.add(
            "<article class=\"sample\">\n<h3>{}{}</h3>\n<p class=\"written\" "
            "dir=\"auto\"><b>{}</b>{}</p>\n</article>\n",
            mark_of_run(i), escape_html(curves_[i].name), escape_html(sample.prompt), escape_html(sample.text));
      }
    }
  }
  page.add("</section>\n");
}

WrittenReport Comparison::write() {
  const std::filesystem::path output =
      options_.output.empty() ? runs_.front().folder.path / "comparison.html" : std::filesystem::path(options_.output);
  require_other_file(output, {options_.source});
  read_texts();
  Html page;
  begin_comparison(page,
                   {.kicker = "heed report",
                    .title = fmt::format("{}", fmt::join(names(), ", ")),
                    .lead = fmt::format("{} runs of {}", runs_.size(), describe(runs_.front().model.architecture))});
  if (!notes_.empty()) {
    page.add("<ul class=\"notes\" aria-label=\"Notes\">\n");
    for (const std::string& text : notes_) {
      page.add("<li>{}</li>\n", escape_html(text));
    }
    page.add("</ul>\n");
  }
  const TaskMetrics task = task_metrics(runs_.front().model);
  write_figures(page);
  write_chance(page);
  write_compared_curves(page, task);
  write_settings(page);
  write_samples(page);
  write_written(page);
  end_comparison(page, curves_, task);
  const std::string text = page.take();
  write_file(output, text);
  return {.path = output.string(),
          .bytes = std::ssize(text),
          .samples = std::min(std::ssize(lines_), options_.samples),
          .notes = notes_};
}

}  // namespace

WrittenReport write_comparison(const ComparisonOptions& options) {
  require<ConfigError>(options.directories.size() >= 2 && options.directories.size() <= kMostRuns, "report",
                       "{} directories, expected 2 to {} to compare", options.directories.size(), kMostRuns);
  require<ConfigError>(options.samples >= 0 && options.samples <= 100, "report", "{} samples, expected 0 to 100",
                       options.samples);
  require<ConfigError>(options.sentences >= 0, "report", "{} sentences, expected at least 0", options.sentences);
  require<ConfigError>(options.beam >= 0, "report", "a beam of {}, expected at least 1, or 0 for the recipe's",
                       options.beam);
  thread_count(options.threads);
  for (auto one = options.directories.begin(); one != options.directories.end(); ++one) {
    require<ConfigError>(std::none_of(options.directories.begin(), one,
                                      [&](const std::string& other) {
                                        std::error_code none;
                                        return std::filesystem::equivalent(*one, other, none);
                                      }),
                         "report", "{} is given twice", *one);
  }
  return Comparison(options).write();
}

}  // namespace heed
