// A line for each request, in a file or on standard output.
#pragma once

#include <fstream>
#include <mutex>
#include <string>
#include <string_view>

namespace heed::serve {

// Safe to use from several threads at once. Never used by the server's thread for lines: a disk or a pipe may be slow.
class AccessLog {
 public:
  // Ends the file before, and opens this one anew, which may have been moved away. "-": standard output; empty: nothing
  // is written. IoError, and nothing changes, where it can't be opened.
  void open(const std::string& path);
  bool is_open() const;
  // What can't be written, as on a full disk, may be lost; later lines are tried again.
  void write(std::string_view line);

 private:
  mutable std::mutex mutex_;
  std::ofstream file_;
  std::ostream* out_ = nullptr;
};

}  // namespace heed::serve
