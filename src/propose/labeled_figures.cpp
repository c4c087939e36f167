#include "propose/labeled_figures.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <set>

#include "base/errors.h"
#include "base/random.h"
#include "data/corpus/labeled_text.h"
#include "text/unicode/unicode.h"

namespace heed {
namespace {

size_t tabs_in(const std::string& line) { return static_cast<size_t>(std::ranges::count(line, '\t')); }

bool is_sentence_line(const std::string& line) {
  const std::vector<std::string> parts = parts_of(line, '\t');
  return parts.size() == 2 && words_of(parts[0]).size() == words_of(parts[1]).size();
}

WordFormat format_of(const Lines& lines) {
  bool has_several = false;
  for (const std::string& line : lines) {
    if (!is_blank(line) && !is_sentence_line(line)) {
      return WordFormat::columns;
    }
    has_several = has_several || words_of(line.substr(0, line.find('\t'))).size() > 1;
  }
  return has_several ? WordFormat::lines : WordFormat::columns;
}

LabeledFile read_texts(const std::vector<std::string>& files, const Lines& lines) {
  LabeledFile file{.columns = tabs_in(lines.front()) == 2 ? TextColumns::pair : TextColumns::one};
  for (LabeledText& text : read_labeled_texts(files, file.columns)) {
    LabeledExampleText example{.texts = {text.first}, .labels = {text.label}};
    if (file.columns == TextColumns::pair) {
      example.texts.push_back(text.second);
    }
    example.stored = fmt::format("{}\t{}\n", fmt::join(example.texts, "\t"), text.label);
    file.examples.push_back(std::move(example));
  }
  return file;
}

LabeledFile read_words(const std::vector<std::string>& files, const Lines& lines) {
  LabeledFile file{.format = format_of(lines)};
  for (LabeledWords& sentence : read_labeled_words(files, file.format)) {
    LabeledExampleText example{.texts = {fmt::format("{}", fmt::join(sentence.words, " "))},
                               .labels = std::move(sentence.labels)};
    if (file.format == WordFormat::lines) {
      example.stored = fmt::format("{}\t{}\n", example.texts.front(), fmt::join(example.labels, " "));
    } else {
      for (size_t i = 0; i < sentence.words.size(); ++i) {
        example.stored += fmt::format("{}\t{}\n", sentence.words[i], example.labels[i]);
      }
      example.stored += "\n";
    }
    file.examples.push_back(std::move(example));
  }
  return file;
}

bool is_number(const std::string& text) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

LabeledFile read_labeled_file(ProposedTask task, const std::vector<std::string>& files) {
  const Lines lines = read_text_lines(files);
  require<FormatError>(std::ranges::any_of(lines, [](const std::string& line) { return !is_blank(line); }),
                       fmt::format("{}", fmt::join(files, ", ")), "has no text");
  return task == ProposedTask::tag ? read_words(files, lines) : read_texts(files, lines);
}

Head head_for(const LabeledFile& file) {
  bool all_numbers = true, has_point = false, has_comma = false;
  for (const LabeledExampleText& example : file.examples) {
    const std::string& label = example.labels.front();
    all_numbers = all_numbers && is_number(label);
    has_point = has_point || label.find('.') != std::string::npos;
    has_comma = has_comma || label.empty() || label.find(',') != std::string::npos;
  }
  return all_numbers && has_point ? Head::number : has_comma ? Head::several_labels : Head::one_label;
}

std::map<std::string, int64_t> count_labels(const LabeledFile& file) {
  std::map<std::string, int64_t> counts;
  for (const LabeledExampleText& example : file.examples) {
    for (const std::string& label : example.labels) {
      ++counts[label];
    }
  }
  return counts;
}

Lines texts_of(const LabeledFile& file) {
  Lines texts;
  for (const LabeledExampleText& example : file.examples) {
    texts.insert(texts.end(), example.texts.begin(), example.texts.end());
  }
  return texts;
}

DividedExamples divide(LabeledFile file, size_t kept) {
  std::map<std::string, int64_t> left = count_labels(file);
  DividedExamples divided{.train = {.columns = file.columns, .format = file.format},
                          .validation = {.columns = file.columns, .format = file.format}};
  // Drawn, since files often alternate between labels, or are sorted by them; always the same.
  std::vector<size_t> order(file.examples.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, {}, [](size_t i) { return uniform_draw(RandomKey{1}, i); });
  std::set<size_t> chosen;
  for (const size_t i : order) {
    std::map<std::string, int64_t> own;
    for (const std::string& label : file.examples[i].labels) {
      ++own[label];
    }
    if (chosen.size() < kept &&
        std::ranges::all_of(own, [&](const auto& one) { return left[one.first] > one.second; })) {
      for (const auto& [label, count] : own) {
        left[label] -= count;
      }
      chosen.insert(i);
    }
  }
  for (size_t i = 0; i < file.examples.size(); ++i) {
    (chosen.contains(i) ? divided.validation : divided.train).examples.push_back(std::move(file.examples[i]));
  }
  return divided;
}

std::string stored_text(const LabeledFile& file) {
  std::string text;
  for (const LabeledExampleText& example : file.examples) {
    text += example.stored;
  }
  return text;
}

}  // namespace heed
