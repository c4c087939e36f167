// Lines of text files in UTF-8, plain or compressed with gzip; the path "-" is the standard input.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace heed {

// Calls use(line, where) for each line; where is "path:number". Throws, with that name, for what is not UTF-8.
void for_each_line(const std::string& path,
                   const std::function<void(const std::string& line, const std::string& where)>& use);

// Calls make(line, where) for each line, on as many threads as asked for (0: one per processor), and then write() with
// what it made, in the order of the lines and from this thread. An exception for a line, from reading it or from make,
// is thrown here after everything before that line has been written.
void transform_lines(const std::string& path, int threads,
                     const std::function<std::string(const std::string& line, const std::string& where)>& make,
                     const std::function<void(const std::string& made)>& write);

// Calls use(source, target, number) for each pair of lines of two files; numbers count from 1. Throws for the same
// reasons, and when the files have different numbers of lines.
void for_each_pair(
    const std::string& source, const std::string& target,
    const std::function<void(const std::string& source, const std::string& target, int64_t number)>& use);

// Reads as many lines at a time as have arrived, to answer a person or a program that keeps writing. Nothing is read
// before it is asked for.
class ArrivingLines {
 public:
  explicit ArrivingLines(std::string path);
  ~ArrivingLines();
  ArrivingLines(const ArrivingLines&) = delete;
  ArrivingLines& operator=(const ArrivingLines&) = delete;

  // Waits for one line, then takes those that follow at once, up to `max_lines` in all. None at the end. Throws as
  // above.
  std::vector<std::string> next(size_t max_lines);

  // "stdin:12" for the line of that index among those taken last.
  std::string name(size_t line) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// A text file that takes the path when it is complete, in commit(), and not before. ConfigError when the path is that of
// one of the files that are read.
class NewTextFile {
 public:
  NewTextFile(const std::string& path, const std::vector<std::string>& inputs);
  ~NewTextFile();
  NewTextFile(const NewTextFile&) = delete;
  NewTextFile& operator=(const NewTextFile&) = delete;

  void write(const std::string& text);
  void commit();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// All that a file holds, as it is.
std::string read_text(const std::string& path);

}  // namespace heed
