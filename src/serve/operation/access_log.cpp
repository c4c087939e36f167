#include "serve/operation/access_log.h"

#include <iostream>
#include <utility>

#include "base/errors.h"

namespace heed::serve {
namespace {

constexpr size_t kMostWaiting = 16 << 20;  // bytes

}  // namespace

void AccessLog::finish() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  line_came_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
}

void AccessLog::open(const std::string& path) {
  const bool is_file = !path.empty() && path != "-";
  std::ofstream file;
  if (is_file) {
    file.open(path, std::ios::app);
    require<IoError>(file.is_open(), path, "cannot be opened for writing");
  }
  const std::scoped_lock lock(files_mutex_, mutex_);
  file_ = std::move(file);
  out_ = is_file ? &file_ : path.empty() ? nullptr : &std::cout;
  is_open_ = out_ != nullptr;
  if (is_open_ && !thread_.joinable()) {
    thread_ = std::thread([this] { write_lines(); });
  }
}

bool AccessLog::is_open() const {
  const std::lock_guard lock(mutex_);
  return is_open_;
}

void AccessLog::write(const std::string& line) {
  {
    const std::lock_guard lock(mutex_);
    if (!is_open_ || waiting_.size() + line.size() > kMostWaiting) {
      return;
    }
    waiting_ += line;
  }
  line_came_.notify_one();
}

void AccessLog::write_lines() {
  std::unique_lock lock(mutex_);
  while (true) {
    line_came_.wait(lock, [this] { return is_stopping_ || !waiting_.empty(); });
    if (waiting_.empty()) {
      return;
    }
    const std::string lines = std::exchange(waiting_, {});
    lock.unlock();
    {
      const std::lock_guard files(files_mutex_);
      if (out_ != nullptr) {
        out_->clear();
        *out_ << lines << std::flush;
      }
    }
    lock.lock();
  }
}

}  // namespace heed::serve
