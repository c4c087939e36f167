#include "data/corpus/spill.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/errors.h"

namespace heed {
namespace {

constexpr size_t kSpillBytes = 1 << 20;

}  // namespace

SpillBytes::SpillBytes(SpillRules rules) : rules_(std::move(rules)) {}

SpillBytes::~SpillBytes() {
  if (descriptor_ >= 0) {
    if (data_ != nullptr) {
      ::munmap(const_cast<std::byte*>(data_), size_);
    }
    ::close(descriptor_);
  }
}

SpillBytes::SpillBytes(SpillBytes&& other) noexcept
    : rules_(std::move(other.rules_)),
      buffer_(std::move(other.buffer_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

SpillBytes& SpillBytes::operator=(SpillBytes&& other) noexcept {
  std::swap(rules_, other.rules_);
  std::swap(buffer_, other.buffer_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

void SpillBytes::append(const void* bytes, size_t size) {
  ensure(data_ == nullptr, "spill", "{} bytes after the end", size);
  if (descriptor_ < 0 && size_ + size > rules_.memory_bytes) {
    spill();
  }
  const auto* const from = static_cast<const std::byte*>(bytes);
  buffer_.insert(buffer_.end(), from, from + size);
  size_ += size;
  if (descriptor_ >= 0 && buffer_.size() >= kSpillBytes) {
    flush();
  }
}

void SpillBytes::seal() {
  if (descriptor_ < 0) {
    data_ = buffer_.data();
    return;
  }
  flush();
  buffer_ = {};
  void* const mapped = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor_, 0);
  if (mapped == MAP_FAILED) {
    refuse("map");
  }
  data_ = static_cast<const std::byte*>(mapped);
}

void SpillBytes::spill() {
  if (rules_.folder.empty()) {
    std::error_code error;
    rules_.folder = std::filesystem::temp_directory_path(error);
    require<IoError>(!error, "temporary files", "there is no folder for them: {}", error.message());
  }
  std::string name = (rules_.folder / "heed-XXXXXX").string();
  descriptor_ = ::mkostemp(name.data(), O_CLOEXEC);
  if (descriptor_ < 0) {
    refuse("create");
  }
  ::unlink(name.c_str());
  flush();
  buffer_ = {};  // frees the memory, which clear() would not
}

void SpillBytes::flush() {
  for (size_t written = 0; written < buffer_.size();) {
    const ssize_t part = ::write(descriptor_, buffer_.data() + written, buffer_.size() - written);
    if (part < 0 && errno != EINTR) {
      refuse("write");
    }
    written += part > 0 ? static_cast<size_t>(part) : 0;
  }
  buffer_.clear();
}

void SpillBytes::refuse(const char* action) const {
  fail<IoError>(rules_.folder.string(), "cannot {} a temporary file: {}", action, std::strerror(errno));
}

}  // namespace heed
