#include "heed/report.h"

#include <algorithm>
#include <filesystem>

#include "base/system/files.h"
#include "base/system/threads.h"
#include "checkpoint/adapter.h"
#include "checkpoint/stored_model.h"
#include "data/corpus/labeled_text.h"
#include "kernels/cpu/cpu_backend.h"
#include "models/config_keys.h"
#include "report/page.h"
#include "report/run/sample_files.h"
#include "train/recipe/labeled_recipe.h"
#include "train/recipe/masked_model_recipe.h"
#include "train/recipe/translation_recipe.h"
#include "train/run/run_folder.h"
#include "train/stages/staged_recipe.h"
#include "train/tasks/language_model_task.h"
#include "train/tasks/tasks.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMaxShownSamples = 100;

void check(const ReportOptions& options) {
  require<ConfigError>(options.samples >= 0 && options.samples <= kMaxShownSamples, "report",
                       "{} samples, expected 0 to {}", options.samples, kMaxShownSamples);
  require<ConfigError>(options.beam >= 0, "report", "a beam of {}, expected at least 1, or 0 for the recipe's",
                       options.beam);
  thread_count(options.threads);
}

ConfigTable compare(const SettingTable& table, const SettingTable& defaults) {
  ConfigTable shown{table.name, {}};
  for (size_t i = 0; i < table.settings.size(); ++i) {
    const std::string value = table.settings[i].show();
    using enum ConfigValue::Origin;
    shown.values.push_back({table.settings[i].name, value, value == defaults.settings[i].show() ? by_default : chosen});
  }
  return shown;
}

// The model table of the trained model, with its vocabulary sizes; the rest from the recipe.
std::vector<ConfigTable> configuration(const ModelConfig& model, const std::optional<Recipe>& recipe) {
  const auto kind = std::ranges::find(task_kinds(), model.architecture, &TaskKind::architecture);
  const Recipe usual_recipe = default_recipe(kind == task_kinds().end() ? task_kinds().front() : *kind);
  Recipe defaults = usual_recipe, actual = recipe.value_or(usual_recipe);
  actual.model = model;
  const std::vector<SettingTable> tables = recipe_settings(actual), usual = recipe_settings(defaults);
  std::vector<ConfigTable> shown;
  for (size_t i = 0; i < tables.size() && (recipe || i == 0); ++i) {
    shown.push_back(compare(tables[i], usual[i]));
  }
  return shown;
}

std::vector<SampleLine> labeled_sample_lines(const LabeledRecipe& recipe, const std::vector<std::string>& files,
                                             int64_t max_samples) {
  std::vector<SampleLine> lines;
  if (dynamic_cast<const TagRecipe*>(&recipe) != nullptr) {
    for (const LabeledWords& sentence : read_labeled_words(files, recipe.data.format)) {
      lines.push_back({fmt::format("{}", fmt::join(sentence.words, " ")), "", sentence.where});
    }
  } else {
    const TextColumns columns = recipe.data.columns;
    for (const LabeledText& text : read_labeled_texts(files, columns)) {
      lines.push_back({columns == TextColumns::pair ? text.first + "\t" + text.second : text.first, "", text.where});
    }
  }
  lines.resize(std::min(lines.size(), static_cast<size_t>(max_samples)));
  return lines;
}

class Report {
 public:
  explicit Report(const ReportOptions& options) : options_(options), folder_{options.directory} {}

  ReportContent gather() {
    content_.model = load_description(folder_).config;
    require<ConfigError>(options_.beam == 0 || content_.model.architecture == Architecture::seq2seq, "report",
                         "a beam is for translations, but this is {}: leave out --beam",
                         describe(content_.model.architecture));
    content_.name = name();
    read_recipe();
    content_.tables = configuration(content_.model, recipe_);
    read_metrics();
    if (holds_adapter(folder_)) {
      content_.adapter = load_adapter(folder_);
    }
    content_.positions = positions();
    add_samples();
    if (content_.parameters == 0 && content_.metrics) {
      content_.parameters = content_.metrics->parameters;
    }
    return std::move(content_);
  }

 private:
  void note(std::string text) { content_.notes.push_back(std::move(text)); }

  // "base" for "runs/base/"; the folder's own name for ".".
  std::string name() const {
    fs::path path = fs::absolute(folder_.path).lexically_normal();
    return (path.has_filename() ? path.filename() : path.parent_path().filename()).string();
  }

  void read_recipe() {
    if (!fs::exists(folder_.recipe())) {
      note("No recipe.toml: the configuration shows only the model.");
      return;
    }
    recipe_ = recipe_of_run(folder_);
    const StagesFolder stages{folder_.path};
    if (fs::exists(stages.list())) {
      note(fmt::format("The last of several stages, which {} lists; the others are in {}.", stages.list().string(),
                       stages.stages().string()));
    }
  }

  void read_metrics() {
    if (!fs::exists(folder_.metrics())) {
      note("No metrics.jsonl: there are no curves.");
      return;
    }
    content_.metrics = parse_metrics(read_file(folder_.metrics()), folder_.metrics().string());
    if (content_.metrics->truncated) {
      note("The last line of metrics.jsonl is cut off, perhaps by a crash, and is ignored.");
    }
    if (!content_.metrics->resumes.empty()) {
      note(fmt::format("Resumed after update{} {}.", content_.metrics->resumes.size() == 1 ? "" : "s",
                       fmt::join(content_.metrics->resumes, ", ")));
    }
  }

  // An adapter's own, or its base's.
  std::optional<PositionMap> positions() const {
    if (!content_.adapter) {
      return position_map(content_.model, folder_.weights());
    }
    const std::optional<PositionMap> own = position_map(content_.model, folder_.adapter_weights());
    return own ? own : position_map(content_.model, base_of(folder_, *content_.adapter).weights());
  }

  void add_samples() {
    const fs::path own = content_.adapter ? folder_.adapter_weights() : folder_.weights();
    if (!fs::exists(own)) {
      note(fmt::format("No {} yet: there are no samples.", own.filename().string()));
      return;
    }
    if (content_.adapter && !has_base(folder_, *content_.adapter)) {
      note(fmt::format("The adapter's base is not in {}: there are no samples.",
                       base_of(folder_, *content_.adapter).path.string()));
      return;
    }
    const auto backend = make_cpu_backend(thread_count(options_.threads));
    const StoredModel stored(folder_, *backend, DType::f32);
    content_.parameters = stored.parameters();
    switch (content_.model.architecture) {
      case Architecture::causal_lm:
        add_passages(stored, *backend);
        break;
      case Architecture::seq2seq:
        add_translations(stored, *backend);
        break;
      case Architecture::encoder:
        add_encoder_texts(stored, *backend);
        break;
    }
  }

  // What the recipe says of an encoder whose directory says nothing.
  TextColumns columns() const {
    const ClassifyRecipe* const own = recipe_ ? recipe_->find<ClassifyRecipe>() : nullptr;
    return own != nullptr ? own->data.columns : TextColumns::one;
  }

  // The requested lines, or else those of the recipe's validation text if it still exists, without their labels.
  void add_encoder_texts(const StoredModel& stored, Backend& backend) {
    std::vector<std::string> files;
    if (!options_.source.empty()) {
      files.push_back(options_.source);
    } else if (recipe_) {
      const MaskedModelRecipe* const masked = recipe_->find<MaskedModelRecipe>();
      const LabeledRecipe* const labeled = recipe_->find<LabeledRecipe>();
      files = masked != nullptr    ? masked->data.validation
              : labeled != nullptr ? labeled->data.validation
                                   : std::vector<std::string>();
      std::erase_if(files, [](const std::string& file) { return !fs::is_regular_file(file); });
    }
    EncoderTexts texts = read_encoder_texts({stored.model(), backend, DType::f32}, stored.text(), encoder_lines(files),
                                            stored.columns().value_or(columns()), options_.interruption);
    if (texts.read.empty()) {
      note(files.empty() ? "No texts: name a file of them with --source."
                         : "No texts: there are none, or none were requested.");
    }
    content_.texts = std::move(texts.read);
    content_.heads = std::move(texts.heads);
    content_.notes.insert(content_.notes.end(), texts.notes.begin(), texts.notes.end());
  }

  // The first lines of files, which have labels where they are a recipe's.
  std::vector<SampleLine> encoder_lines(const std::vector<std::string>& files) const {
    const LabeledRecipe* const labeled = options_.source.empty() && recipe_ ? recipe_->find<LabeledRecipe>() : nullptr;
    if (labeled == nullptr) {
      return read_sample_lines({files.begin(), files.end()}, {}, options_.samples);
    }
    return files.empty() ? std::vector<SampleLine>() : labeled_sample_lines(*labeled, files, options_.samples);
  }

  void add_passages(const StoredModel& stored, Backend& backend) {
    const std::optional<TextRules> text = passage_text(options_.source, recipe_);
    if (!text || options_.samples == 0) {
      note(text ? "No passages: none were requested." : "No passages: name a file of text with --source.");
      return;
    }
    Passages passages = read_passages({stored.model(), backend, DType::f32}, stored.text(), *text,
                                      {.count = options_.samples, .interruption = options_.interruption});
    content_.passages = std::move(passages.read);
    content_.heads = std::move(passages.heads);
    content_.notes.insert(content_.notes.end(), passages.notes.begin(), passages.notes.end());
  }

  void add_translations(const StoredModel& stored, Backend& backend) {
    const SampleFiles files = sample_files(options_.source, recipe_);
    const std::vector<SampleLine> lines = read_sample_lines(files.sources, files.references, options_.samples);
    if (lines.empty()) {
      note(files.sources.empty() ? "No samples: name a file of sentences with --source."
                                 : "No samples: there are no sentences, or none were requested.");
      return;
    }
    Scheduler scheduler({stored.model(), backend, DType::f32});
    Samples samples = translate_samples(
        {.scheduler = scheduler, .tokenizers = {stored.source(), stored.target()}, .marks = stored.marks()}, lines,
        search());
    content_.samples = std::move(samples.translated);
    content_.heads = std::move(samples.heads);
    content_.notes.insert(content_.notes.end(), samples.notes.begin(), samples.notes.end());
  }

  TranslationOptions search() const {
    const TranslationRecipe* const translation = recipe_ ? recipe_->find<TranslationRecipe>() : nullptr;
    const TranslationValidationRecipe validation =
        translation != nullptr ? translation->validation : TranslationValidationRecipe{};
    return {.beam = options_.beam > 0 ? options_.beam : validation.beam,
            .length_penalty = validation.length_penalty,
            .interruption = options_.interruption,
            .languages = translation != nullptr ? translation->data.languages : LanguagePair{}};
  }

  const ReportOptions& options_;
  ModelFolder folder_;
  std::optional<Recipe> recipe_;
  ReportContent content_;
};

}  // namespace

WrittenReport write_report(const ReportOptions& options) {
  check(options);
  const fs::path output =
      options.output.empty() ? fs::path(options.directory) / "report.html" : fs::path(options.output);
  require_other_file(output, {options.source});
  const ReportContent content = Report(options).gather();
  const std::string page = report_page(content);
  write_file(output, page);
  return {.path = output.string(),
          .bytes = static_cast<int64_t>(page.size()),
          .samples = static_cast<int64_t>(content.samples.size() + content.passages.size() + content.texts.size()),
          .notes = content.notes};
}

}  // namespace heed
