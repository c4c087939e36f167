// Text files as a language model reads them: line by line, divided into documents.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "data/lines/line_reader.h"
#include "heed/types/reading/labeled_files.h"
#include "text/lines/documents.h"

namespace heed {

// A part of a text, counted in characters (code points) over all its files.
struct CharacterRange {
  int64_t begin = 0, end = std::numeric_limits<int64_t>::max();
};

struct TextRules {
  std::vector<std::filesystem::path> files;
  Documents documents = Documents::none;
  TextColumns columns = TextColumns::one;   // pair: of documents that are lines, each of which is two texts
  size_t max_line_bytes = size_t{1} << 20;  // in bytes
  // Only this range is read: of a stream, its characters; else, the whole documents that begin in it.
  CharacterRange range = {};
  std::string part = {};  // what the range is, for messages: "kept for validation"
};

struct TextLine {
  std::string text;              // without its end
  bool line_break = false;       // a line break follows, as part of the document
  bool begins_document = false;  // true also for the first line of a stream
  int64_t file = 0, line = 0;    // where it begins: the file's index, and the line's number from 1
};

struct TextSize {
  int64_t bytes = 0, characters = 0;
};

// Reads files one after the other, with at most two lines in memory. FormatError, with path and line, like LineReader
// (here also for a line that is too long), and for a file without text.
class TextSource {
 public:
  explicit TextSource(TextRules rules);

  bool next(TextLine& line);

  std::string where(const TextLine& line) const;  // "input.txt:812", for messages
  // The size of what has been read of the range, with all line breaks.
  TextSize size() const { return size_; }
  const TextRules& rules() const { return rules_; }

 private:
  struct RawLine {
    std::string text;
    bool broken = false, begins_file = false;
    int64_t file = 0, line = 0;
    int64_t characters() const;  // its line break included
  };

  bool read(RawLine& raw);
  bool read_stream(TextLine& line);
  bool read_document(TextLine& line);
  bool peek();

  TextRules rules_;
  std::optional<LineReader> reader_;
  size_t opened_ = 0;
  std::optional<RawLine> ahead_;
  int64_t at_ = 0;  // characters before the next line
  TextSize size_;
  bool begun_ = false, in_document_ = false, wanted_ = false;
};

// The size of all files; reads them completely.
TextSize measure_text(const TextRules& rules);

}  // namespace heed
