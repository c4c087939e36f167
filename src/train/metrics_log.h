// metrics.jsonl: one JSON object a line, as a run goes along. docs/formats.md lists the events.
#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

namespace heed {

class MetricsLog {
 public:
  // Goes on behind the first `bytes` bytes of the file; what is beyond them was written after the state that the run
  // resumes from.
  MetricsLog(const std::filesystem::path& path, int64_t bytes);

  // Adds a line, and hands it to the system at once. IoError when that fails.
  void add(const std::string& json);
  void sync();  // to the disk: before a state is written that counts its bytes
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
