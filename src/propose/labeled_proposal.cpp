#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/errors.h"
#include "base/system/files.h"
#include "propose/aims.h"
#include "propose/encoder_proposal.h"
#include "propose/fine_tuning.h"
#include "propose/labeled_figures.h"
#include "propose/recipe_parts.h"

namespace heed {
namespace {

constexpr LearningRules kLabelRules{.parameters_per_token = 4.5, .tokens_per_parameter = 6.0, .passes = 20.0};
constexpr size_t kLeastExamples = 50, kMostKeptExamples = 1000, kShownLabels = 8;
constexpr double kKeptExamples = 0.1;
constexpr int64_t kExamplesOfBatch = 32, kFewExamplesOfBatch = 16, kManyExamples = 2000;
constexpr int64_t kLongestText = 512;                   // tokens: longer ones are cut
constexpr double kFewPasses = 4.0, kManyPasses = 10.0;  // over many and over few examples, of a model that goes on

struct LabeledCorpus {
  LabeledFile train, validation;
  std::vector<std::string> train_files, validation_files;
  bool is_divided = false;
};

struct LabelFiguresOfText {
  std::map<std::string, int64_t> labels;
  std::vector<SubwordFigures> vocabularies;
  double tokens = 0.0;
  int64_t length = 0, longest = 0;  // tokens of a text
  Head head = Head::one_label;
};

bool tags(const ProposalOptions& options) { return options.task == ProposedTask::tag; }

void require_known_labels(const LabeledCorpus& corpus) {
  const std::map<std::string, int64_t> known = count_labels(corpus.train);
  if (head_for(corpus.train) != Head::one_label) {
    return;
  }
  for (const auto& [label, count] : count_labels(corpus.validation)) {
    require<FormatError>(known.contains(label), "the validation text",
                         "has the label '{}', which the training text lacks", label);
  }
}

LabeledCorpus read_corpus(const ProposalOptions& options) {
  LabeledCorpus corpus{.train = read_labeled_file(options.task, options.text), .train_files = options.text};
  if (!options.validation.empty()) {
    corpus.validation = read_labeled_file(options.task, options.validation);
    corpus.validation_files = options.validation;
    require<FormatError>(
        corpus.train.columns == corpus.validation.columns && corpus.train.format == corpus.validation.format,
        "the validation text", "has other columns than the training text");
  } else {
    const size_t count = corpus.train.examples.size();
    require<FormatError>(count >= kLeastExamples, "text",
                         "{} {} are too few to keep some for validation: {} are needed, or --validation with a file",
                         count, tags(options) ? "sentences" : "texts", kLeastExamples);
    const size_t kept = std::min(kMostKeptExamples, static_cast<size_t>(kKeptExamples * static_cast<double>(count)));
    DividedExamples divided = divide(std::move(corpus.train), kept);
    corpus.train = std::move(divided.train);
    corpus.validation = std::move(divided.validation);
    require<FormatError>(!corpus.validation.examples.empty(), "text",
                         "each label occurs once: nothing can be kept for validation");
    const std::string stem = std::filesystem::path(options.output).replace_extension().string();
    corpus.train_files = {stem + ".train"};
    corpus.validation_files = {stem + ".validation"};
    corpus.is_divided = true;
    require_other_file(corpus.train_files.front(), options.text);
    require_other_file(corpus.validation_files.front(), options.text);
  }
  require_known_labels(corpus);
  return corpus;
}

void remark_on_labels(ReasonedRecipe& recipe, const ProposalOptions& options, const LabeledCorpus& corpus,
                      const LabelFiguresOfText& figures) {
  std::vector<std::pair<int64_t, std::string>> by_count;
  int64_t all = 0;
  for (const auto& [label, count] : figures.labels) {
    by_count.emplace_back(count, label);
    all += count;
  }
  std::ranges::sort(by_count, std::greater());
  std::vector<std::string> shown;
  for (size_t i = 0; i < std::min(kShownLabels, by_count.size()); ++i) {
    shown.push_back(fmt::format("{} ({})", by_count[i].second, by_count[i].first));
  }
  recipe.remark(fmt::format("{} {}, {} different labels: {}{}.", corpus.train.examples.size(),
                            tags(options) ? "sentences" : "texts", by_count.size(), fmt::join(shown, ", "),
                            by_count.size() > shown.size() ? " ..." : ""));
  if (figures.head == Head::one_label) {
    recipe.remark(fmt::format("Who always said {} would be right in {:.0f}%: accuracies are to be compared with that.",
                              by_count.front().second,
                              100.0 * static_cast<double>(by_count.front().first) / static_cast<double>(all)));
    if (by_count.back().first < 10) {
      recipe.remark(fmt::format("The rarest label, {}, occurs {} times: too rarely to be learned well.",
                                by_count.back().second, by_count.back().first));
    }
  }
}

void add_head(ReasonedRecipe& recipe, const ProposalOptions& options, Head head) {
  if (tags(options)) {
    recipe.set("head", "token-labels");
    return;
  }
  recipe.because(head == Head::number           ? "The labels are numbers."
                 : head == Head::several_labels ? "A text may have several labels, with commas between them."
                                                : "Each text has one label.");
  recipe.set("head", head == Head::number ? "number" : head == Head::several_labels ? "labels" : "label");
  recipe.set("pooling", "mean");
}

int64_t examples_of_batch(const LabeledCorpus& corpus) {
  return std::ssize(corpus.train.examples) < kManyExamples ? kFewExamplesOfBatch : kExamplesOfBatch;
}

void add_labeled_data(ReasonedRecipe& recipe, const ProposalOptions& options, const LabeledCorpus& corpus) {
  recipe.set("train", corpus.train_files);
  if (corpus.is_divided) {
    recipe.because(fmt::format("{} {} are kept for it, none whose label would be missing then.",
                               corpus.validation.examples.size(), tags(options) ? "sentences" : "texts"));
  }
  recipe.set("validation", corpus.validation_files);
  if (tags(options)) {
    recipe.set("format", corpus.train.format == WordFormat::lines ? "lines" : "columns");
  } else if (corpus.train.columns == TextColumns::pair) {
    recipe.because("Three columns: two texts and a label.");
    recipe.set_flag("pairs");
  }
  recipe.set("batch_sequences", examples_of_batch(corpus));
}

ReasonedRecipe labels_recipe(const ProposalOptions& options, const LabeledCorpus& corpus,
                             const LabelFiguresOfText& figures, const SizeChoice& choice) {
  const ModelSize& size = choice.chosen.size;
  const ExpectedRun run = expected_run(choice, figures.tokens, examples_of_batch(corpus) * figures.length);
  ReasonedRecipe recipe;
  remark_on_labels(recipe, options, corpus, figures);
  remark_on_aim(recipe, options);
  recipe.remark("An encoder that was trained on other text is better where labels are few: --from MODEL.");
  recipe.table("model");
  recipe.set("architecture", "encoder");
  add_size(recipe, choice, rules_for(options, kLabelRules), figures.tokens);
  recipe.set("encoder_layers", size.layers);
  recipe.because(fmt::format("The longest text has {} subwords.", figures.longest));
  recipe.set("max_length", std::clamp<int64_t>((figures.longest + 66) / 64 * 64, 64, kLongestText));
  recipe.set("activation", "gelu");
  recipe.because(
      "Learned positions would have to be learned from few texts; rotations are there from the first update.");
  recipe.set("positions", "rotary");
  if (corpus.train.columns == TextColumns::pair) {
    recipe.set("token_types", int64_t{2});
  }
  add_head(recipe, options, figures.head);
  add_dropout(recipe, run);
  recipe.table("data");
  add_labeled_data(recipe, options, corpus);
  recipe.table("tokenizer");
  add_vocabulary(recipe, figures.vocabularies);
  add_schedule(recipe, run, encoder_peak(size.width, 0.0005), options.minutes);
  add_training(recipe, run, 0.0, options.minutes);
  recipe.set("task", tags(options) ? "tag" : "classify");
  recipe.table("validation");
  recipe.set("every", validation_every(run));
  recipe.table("checkpoints");
  recipe.because("A classifier learns few texts by heart before its rate has come down.");
  recipe.set("final", "best");
  return recipe;
}

LabelFiguresOfText figures_of_labels(const ProposalOptions& options, const LabeledCorpus& corpus, const Lines& texts) {
  LabelFiguresOfText figures{.labels = count_labels(corpus.train), .head = head_for(corpus.train)};
  if (options.from.empty()) {
    figures.vocabularies = choose_vocabulary({&texts}, {}, most_subwords(options));
    const int64_t vocabulary = figures.vocabularies.back().vocabulary;
    figures.tokens = count_tokens({&texts}, {}, vocabulary).front();
    figures.longest = longest_line({&texts}, texts, {}, vocabulary);
    const auto examples = static_cast<double>(corpus.train.examples.size());
    figures.length = std::clamp<int64_t>(std::llround(figures.tokens / examples), 2, 64);
  }
  require<FormatError>(figures.head == Head::number || figures.labels.size() >= 2, "text",
                       "has one label alone: there is nothing to learn");
  return figures;
}

std::string continued_labels(const ProposalOptions& options, const LabeledCorpus& corpus,
                             const LabelFiguresOfText& figures, const Lines& texts) {
  const auto examples = std::ssize(corpus.train.examples);
  return propose_fine_tuning(
      options, {.task = tags(options) ? "tag" : "classify",
                .architecture = Architecture::encoder,
                .passes = examples < kManyExamples ? kManyPasses : kFewPasses,
                .examples = examples,
                .tokens = [&](const Tokenizer& tokenizer) { return count_tokens(tokenizer, texts); },
                .add_model = [&](ReasonedRecipe& recipe) { add_head(recipe, options, figures.head); },
                .add_data = [&](ReasonedRecipe& recipe, int64_t) { add_labeled_data(recipe, options, corpus); },
                .add_validation = {},
                .batch_examples = examples_of_batch(corpus)});
}

}  // namespace

std::string propose_labels(const ProposalOptions& options) {
  const LabeledCorpus corpus = read_corpus(options);
  const Lines texts = texts_of(corpus.train);
  const LabelFiguresOfText figures = figures_of_labels(options, corpus, texts);
  std::string toml;
  if (!options.from.empty()) {
    toml = continued_labels(options, corpus, figures, texts);
  } else {
    const auto make = [&](const SizeChoice& choice) { return labels_recipe(options, corpus, figures, choice); };
    const SizeChoice choice = choose_measured(language_model_sizes(), rules_for(options, kLabelRules), figures.tokens,
                                              make, figures.length, options);
    const auto batch = static_cast<double>(examples_of_batch(corpus) * figures.length);
    require_time(options, {.tokens_per_second = choice.chosen.tokens_per_second,
                           .batch_tokens = batch,
                           .validation_tokens = static_cast<double>(figures.length) *
                                                static_cast<double>(corpus.validation.examples.size())});
    const ReasonedRecipe recipe = make(choice);
    require_valid(recipe, options);
    toml = recipe.toml();
  }
  if (corpus.is_divided) {
    write_file(corpus.train_files.front(), stored_text(corpus.train));
    write_file(corpus.validation_files.front(), stored_text(corpus.validation));
  }
  return toml;
}

}  // namespace heed
