#include "data/corpus/spill.h"

#include "base/errors.h"

namespace heed {
namespace {

constexpr size_t kSpillBytes = 1 << 20;

}  // namespace

void SpillBytes::append(const void* bytes, size_t size) {
  ensure(data_ == nullptr, "spill", "{} bytes after the end", size);
  if (!file_ && size_ + size > rules_.memory_bytes) {
    file_.emplace(rules_.folder);
    flush();
    buffer_ = {};  // frees the memory, which clear() does not
  }
  const auto* const from = static_cast<const std::byte*>(bytes);
  buffer_.insert(buffer_.end(), from, from + size);
  size_ += size;
  if (file_ && buffer_.size() >= kSpillBytes) {
    flush();
  }
}

void SpillBytes::seal() {
  if (file_) {
    flush();
    buffer_ = {};
    data_ = file_->map().data();
  } else {
    data_ = buffer_.data();
  }
}

void SpillBytes::flush() {
  file_->write(buffer_);
  buffer_.clear();
}

}  // namespace heed
