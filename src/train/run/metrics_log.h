// metrics.jsonl: one JSON object per line, written as the run goes on. docs/models/formats.md lists the events.
#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

namespace heed {

class MetricsLog {
 public:
  // Keeps the first `bytes` bytes of the file and drops the rest, which was written after the state that the run
  // resumes from.
  MetricsLog(const std::filesystem::path& path, int64_t bytes);

  // Appends a line and flushes it to the system. IoError when that fails.
  void add(const std::string& json);
  void sync();  // to the disk; to be called before saving a state that refers to bytes()
  int64_t bytes() const { return bytes_; }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  std::filesystem::path path_;
  std::unique_ptr<std::FILE, Close> file_;
  int64_t bytes_;
};

}  // namespace heed
