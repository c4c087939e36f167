#include "train/run/metrics_log.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/errors.h"

namespace heed {

MetricsLog::MetricsLog(const std::filesystem::path& path, int64_t bytes) : path_(path), bytes_(bytes) {
  if (std::filesystem::exists(path)) {
    require<FormatError>(static_cast<int64_t>(std::filesystem::file_size(path)) >= bytes, path.string(),
                         "{} bytes, but the run to be resumed had written {}", std::filesystem::file_size(path), bytes);
    std::filesystem::resize_file(path, static_cast<uintmax_t>(bytes));
  } else {
    bytes_ = 0;
  }
  file_.reset(std::fopen(path.c_str(), "ae"));
  require<IoError>(file_ != nullptr, path.string(), "cannot open: {}", std::strerror(errno));
}

void MetricsLog::add(const std::string& json) {
  const std::string line = json + "\n";
  const bool written =
      std::fwrite(line.data(), 1, line.size(), file_.get()) == line.size() && std::fflush(file_.get()) == 0;
  require<IoError>(written, path_.string(), "cannot write: {}", std::strerror(errno));
  bytes_ += static_cast<int64_t>(line.size());
}

void MetricsLog::sync() {
  int failed = 0;
  do {
    failed = ::fdatasync(fileno(file_.get()));
  } while (failed != 0 && errno == EINTR);
  require<IoError>(failed == 0, path_.string(), "cannot write: {}", std::strerror(errno));
}

}  // namespace heed
