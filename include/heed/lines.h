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

// Calls make(line, where) for each line, on this many threads (0: one per processor), and write() with what it made, in
// the order of the lines and from the calling thread. An exception about a line, from reading it or from make(), is
// thrown after everything before that line has been written.
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
class AvailableLines {
 public:
  explicit AvailableLines(std::string path);
  ~AvailableLines();
  AvailableLines(const AvailableLines&) = delete;
  AvailableLines& operator=(const AvailableLines&) = delete;

  // Waits for a line, and takes it with those that have arrived after it, up to `max_lines` in all. None at the end.
  // Throws as above.
  std::vector<std::string> next(size_t max_lines);

  // A name such as "stdin:12" for a line, by its index among those that next() returned last.
  std::string name(size_t line) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// A text file that takes the path when it is complete, in commit(), and not before. ConfigError when the path is that
// of one of the files that are read.
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

// The whole content of a file, unchanged.
std::string read_text(const std::string& path);

}  // namespace heed
