// A line for each request, in a file or on standard output.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>

namespace heed::serve {

// Safe to use from several threads at once. Never waits for a disk or a pipe, which may be slow: a thread of its own
// writes.
class AccessLog {
 public:
  AccessLog() = default;
  ~AccessLog() { finish(); }
  AccessLog(const AccessLog&) = delete;
  AccessLog& operator=(const AccessLog&) = delete;

  // Ends the file before, and opens this one anew, which may have been moved away. "-": standard output; empty: nothing
  // is written. IoError, and nothing changes, where it can't be opened.
  void open(const std::string& path);
  bool is_open() const;
  // What can't be written, as on a full disk, may be lost; later lines are tried again. So may lines of which too many
  // wait.
  void write(const std::string& line);
  // Returns when all lines have been written; later ones are not.
  void finish();

 private:
  void write_lines();

  mutable std::mutex mutex_;
  std::condition_variable line_came_;
  std::string waiting_;  // lines
  bool is_stopping_ = false;
  bool is_open_ = false;
  std::mutex files_mutex_;  // of the two below; held while lines are written
  std::ofstream file_;
  std::ostream* out_ = nullptr;
  std::thread thread_;  // where there is a file
};

}  // namespace heed::serve
