#include "api/model_quality.h"

#include "base/system/files.h"
#include "data/corpus/labeled_text.h"
#include "heed/encoder.h"
#include "heed/evaluate.h"
#include "heed/generator.h"
#include "heed/lines.h"
#include "heed/translator.h"
#include "models/any_model.h"

namespace heed {
namespace {

double percent(int64_t right, int64_t all) { return 100.0 * static_cast<double>(right) / static_cast<double>(all); }

// Two texts where the file's first line has two tabs.
TextColumns columns_of(const std::string& path) {
  TextColumns columns = TextColumns::one;
  int64_t line_number = 0;
  for_each_line(path, [&](const std::string& line, const std::string&) {
    columns = ++line_number == 1 && parts_of(line, '\t').size() == 3 ? TextColumns::pair : columns;
  });
  return columns;
}

double accuracy_of_texts(const Encoder& encoder, const std::string& path) {
  const TextColumns columns = encoder.columns().value_or(columns_of(path));
  const std::vector<LabeledText> texts = read_labeled_texts({path}, columns);
  std::vector<std::string> single;
  std::vector<TextPair> pairs;
  for (const LabeledText& text : texts) {
    columns == TextColumns::pair ? pairs.push_back({text.first, text.second}) : single.push_back(text.first);
  }
  const auto name = [&](size_t i) { return texts[i].where; };
  const std::vector<TextLabels> found =
      columns == TextColumns::pair ? encoder.classify(pairs, name) : encoder.classify(single, name);
  int64_t right = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    right += found[i].labels.front() == texts[i].label ? 1 : 0;
  }
  return percent(right, static_cast<int64_t>(texts.size()));
}

double accuracy_of_words(const Encoder& encoder, const std::string& path) {
  const std::vector<LabeledWords> sentences = read_labeled_words({path}, WordFormat::columns);
  std::vector<std::vector<std::string>> words;
  words.reserve(sentences.size());
  for (const LabeledWords& sentence : sentences) {
    words.push_back(sentence.words);
  }
  const auto found = encoder.tag(words, [&](size_t i) { return sentences[i].where; });
  int64_t right = 0, all = 0;
  for (size_t i = 0; i < sentences.size(); ++i) {
    for (size_t k = 0; k < sentences[i].labels.size(); ++k, ++all) {
      right += found[i][k] == sentences[i].labels[k] ? 1 : 0;
    }
  }
  return percent(right, all);
}

}  // namespace

void check_report(const QuantizationReport& report, const ModelConfig& model, const std::vector<std::string>& inputs) {
  const bool names_pairs = !report.source.empty() || !report.reference.empty();
  require<ConfigError>(!report.page.empty() || (!names_pairs && report.text.empty()), "report",
                       "--report-source, --report-reference and --report-text need --report");
  std::vector<std::string> read{report.source, report.reference, report.text};
  read.insert(read.end(), inputs.begin(), inputs.end());
  require_other_file(report.page, read);
  if (!report.page.empty()) {
    require<ConfigError>(!std::filesystem::is_directory(report.page), report.page,
                         "is a folder: name the file that the report is written to");
    const std::filesystem::path folder = std::filesystem::absolute(report.page).parent_path();
    require<IoError>(std::filesystem::is_directory(folder), report.page, "there is no such folder");
    require_writable(folder);
  }
  require<ConfigError>(report.letters == LetterCase::kept || !report.source.empty(), "report",
                       "--lowercase is for BLEU, which needs --report-source");
  require<ConfigError>(report.source.empty() == report.reference.empty(), "report",
                       "--report-source and --report-reference must be given together");
  const bool translates = model.architecture == Architecture::seq2seq;
  require<ConfigError>(!names_pairs || translates, "report", "{} is measured on one text: name it with --report-text",
                       describe(model.architecture));
  require<ConfigError>(report.text.empty() || !translates, "report",
                       "{} is measured on sentences and their translations: name them with --report-source and "
                       "--report-reference",
                       describe(model.architecture));
  const bool has_accuracy =
      model.architecture != Architecture::encoder || model.head == Head::one_label || model.head == Head::token_labels;
  require<ConfigError>(report.text.empty() || has_accuracy, "report",
                       "accuracy needs a model with one label per text or per word: leave out --report-text");
}

std::optional<MeasuredQuality> measure_quality(const std::string& directory, const ModelConfig& model,
                                               const QuantizationReport& report, int threads) {
  const InferenceOptions exact{Precision::f32, threads};
  if (!report.source.empty()) {
    const Translator translator(directory, exact);
    const EvaluationReport found = evaluate(translator, {.source = report.source,
                                                         .reference = report.reference,
                                                         .letters = report.letters,
                                                         .translation = {.beam = 1}});
    return MeasuredQuality{"BLEU", found.scores.bleu.score};
  }
  if (report.text.empty()) {
    return std::nullopt;
  }
  if (model.architecture == Architecture::causal_lm) {
    const Generator generator(directory, exact);
    return MeasuredQuality{"perplexity", generator.perplexity(read_text(report.text), {}, report.text).perplexity};
  }
  const Encoder encoder(directory, exact);
  return MeasuredQuality{"accuracy, %", model.head == Head::one_label ? accuracy_of_texts(encoder, report.text)
                                                                      : accuracy_of_words(encoder, report.text)};
}

}  // namespace heed
