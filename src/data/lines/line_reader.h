// Lines of UTF-8 text files, plain or compressed with gzip, of any size. The path "-" is the standard input.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "data/lines/byte_stream.h"

namespace heed {

// What happens to a line that is longer than the limit.
enum class LongLines : uint8_t { refuse, mark };

// Whether a \r before the end of a line is dropped, or kept as text.
enum class CarriageReturns : uint8_t { drop, keep };

struct LineRules {
  size_t max_bytes = size_t{1} << 20;
  LongLines long_lines = LongLines::refuse;
  CarriageReturns carriage_returns = CarriageReturns::drop;
};

// A line ends with \n alone (never with another of Unicode's separators, which are text), or with the file. A byte
// order mark at the start of the file is dropped. Memory is bounded by the longest line allowed. FormatError, with path
// and line, for bytes that are not UTF-8 and for NUL, which only files in another encoding have.
class LineReader {
 public:
  explicit LineReader(const std::filesystem::path& path, LineRules rules = {});

  // The next line, without its end; false after the last.
  bool next(std::string& line);
  // Whether next() would return without waiting for whoever writes the file; with gzip it may still wait, for the rest
  // of a compressed block.
  bool is_ready() { return gather(Waiting::no); }

  int64_t line_number() const { return line_number_; }       // of the last line returned, from 1
  bool marked() const { return marked_; }                    // that line was too long, and was returned empty
  bool broken() const { return broken_; }                    // that line ended with \n, not with the file
  std::string where() const;                                 // "corpus.de:12"
  const std::string& name() const { return bytes_.name(); }  // of the file, for messages

 private:
  enum class End : uint8_t { newline, file };
  enum class Waiting : uint8_t { yes, no };
  bool gather(Waiting waiting);

  ByteStream bytes_;
  LineRules rules_;
  std::vector<char> buffer_;
  size_t begin_ = 0, end_ = 0;
  std::string gathered_;            // of the next line
  std::optional<End> gathered_to_;  // once it is whole
  int64_t line_number_ = 0;
  bool marked_ = false, broken_ = false;
};

// The lines of several files, one after the other.
class LinesOfFiles {
 public:
  explicit LinesOfFiles(std::vector<std::filesystem::path> files, LineRules rules = {});

  bool next(std::string& line);
  std::string where() const { return reader_->where(); }  // of the last line returned

 private:
  std::vector<std::filesystem::path> files_;
  LineRules rules_;
  size_t opened_ = 0;
  std::optional<LineReader> reader_;
};

// "a.txt, b.txt", for messages.
std::string names_of(const std::vector<std::filesystem::path>& files);

std::vector<std::string> read_lines(const std::vector<std::filesystem::path>& files);

}  // namespace heed
