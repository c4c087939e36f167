#include "data/corpus/labeled_text.h"

#include <algorithm>

#include "base/errors.h"
#include "base/text/plural.h"
#include "data/lines/line_reader.h"

namespace heed {
namespace {

void add_word(const std::string& line, const std::string& where, size_t& columns, LabeledWords& sentence) {
  const std::vector<std::string> parts = line.find('\t') == std::string::npos ? words_of(line) : parts_of(line, '\t');
  columns = columns == 0 ? parts.size() : columns;
  require<FormatError>(parts.size() >= 2 && parts.size() == columns, where,
                       "{} column{}, expected {}: a word, and its label in the last", parts.size(),
                       plural(static_cast<int64_t>(parts.size())), std::max<size_t>(columns, 2));
  require<FormatError>(!parts.front().empty() && !parts.back().empty(), where, "the word or its label is empty");
  if (sentence.words.empty()) {
    sentence.where = where;
  }
  sentence.words.push_back(parts.front());
  sentence.labels.push_back(parts.back());
}

LabeledWords sentence_of(const std::string& line, const std::string& where) {
  const std::vector<std::string> columns = parts_of(line, '\t');
  require<FormatError>(columns.size() == 2, where, "{} column{}, expected 2: words and labels", columns.size(),
                       plural(static_cast<int64_t>(columns.size())));
  LabeledWords sentence{words_of(columns[0]), words_of(columns[1]), where};
  require<FormatError>(sentence.words.size() == sentence.labels.size() && !sentence.words.empty(), where,
                       "{} word{}, but {} label{}", sentence.words.size(), plural(std::ssize(sentence.words)),
                       sentence.labels.size(), plural(std::ssize(sentence.labels)));
  return sentence;
}

}  // namespace

std::vector<std::string> parts_of(const std::string& text, char separator) {
  std::vector<std::string> parts;
  size_t begin = 0;
  for (size_t at = text.find(separator); at != std::string::npos; at = text.find(separator, begin)) {
    parts.push_back(text.substr(begin, at - begin));
    begin = at + 1;
  }
  parts.push_back(text.substr(begin));
  return parts;
}

std::vector<std::string> words_of(const std::string& text) {
  constexpr const char* kSpaces = " \t";
  std::vector<std::string> words;
  for (size_t begin = text.find_first_not_of(kSpaces); begin != std::string::npos;) {
    const size_t end = std::min(text.find_first_of(kSpaces, begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = text.find_first_not_of(kSpaces, end);
  }
  return words;
}

std::vector<LabeledText> read_labeled_texts(const std::vector<std::string>& files, TextColumns columns) {
  const size_t expected = columns == TextColumns::pair ? 3 : 2;
  const std::vector<std::filesystem::path> paths(files.begin(), files.end());
  LinesOfFiles lines(paths);
  std::vector<LabeledText> texts;
  for (std::string line; lines.next(line);) {
    std::vector<std::string> parts = parts_of(line, '\t');
    require<FormatError>(parts.size() == expected, lines.where(), "{} column{}, expected {}: {}", parts.size(),
                         plural(static_cast<int64_t>(parts.size())), expected,
                         columns == TextColumns::pair ? "two texts and a label, with tabs between them (data.pairs)"
                                                      : "a text and a label, with a tab between them");
    texts.push_back({parts.front(), columns == TextColumns::pair ? parts[1] : "", parts.back(), lines.where()});
  }
  require<FormatError>(!texts.empty(), names_of(paths), "holds no text");
  return texts;
}

std::vector<LabeledWords> read_labeled_words(const std::vector<std::string>& files, WordFormat format) {
  const std::vector<std::filesystem::path> paths(files.begin(), files.end());
  LinesOfFiles lines(paths);
  std::vector<LabeledWords> sentences;
  LabeledWords sentence;
  size_t columns = 0;
  const auto end_sentence = [&] {
    if (!sentence.words.empty()) {
      sentences.push_back(std::move(sentence));
      sentence = {};
    }
  };
  for (std::string line; lines.next(line);) {
    if (words_of(line).empty()) {
      end_sentence();
    } else if (format == WordFormat::columns) {
      add_word(line, lines.where(), columns, sentence);
    } else {
      sentences.push_back(sentence_of(line, lines.where()));
    }
  }
  end_sentence();
  require<FormatError>(!sentences.empty(), names_of(paths), "holds no word");
  return sentences;
}

}  // namespace heed
