#include "serve/operation/access_log.h"

#include <iostream>
#include <utility>

#include "base/errors.h"

namespace heed::serve {

void AccessLog::open(const std::string& path) {
  const bool is_file = !path.empty() && path != "-";
  std::ofstream file;
  if (is_file) {
    file.open(path, std::ios::app);
    require<IoError>(file.is_open(), path, "cannot be opened for writing");
  }
  const std::lock_guard lock(mutex_);
  file_ = std::move(file);
  out_ = is_file ? &file_ : path.empty() ? nullptr : &std::cout;
}

bool AccessLog::is_open() const {
  const std::lock_guard lock(mutex_);
  return out_ != nullptr;
}

void AccessLog::write(std::string_view line) {
  const std::lock_guard lock(mutex_);
  if (out_ != nullptr) {
    out_->clear();
    *out_ << line << std::flush;
  }
}

}  // namespace heed::serve
